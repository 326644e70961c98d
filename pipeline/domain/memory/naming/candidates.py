"""What may be a name: defined terms, titles, capitalised words, code, and the rare words of questions. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.domain.memory.naming.definitions import (
    MOST_WORDS,
    abbreviations,
    definitions,
    expansion,
    initials,
    title_meaning,
    titled,
)
from pipeline.domain.memory.naming.own_documents import calls_of, gloss_of, names_in_title, subject_key
from pipeline.domain.memory.naming.prose import CAPITALISED_NOUNS, UNSPACED, Sentence, is_closed, words_of
from pipeline.domain.memory.naming.word_classes import is_acronym, is_code, is_function_word, is_ordinary, may_name
from pipeline.domain.memory.values import EntityKind, Statement
from pipeline.text.stemming import DEFAULT_LANGUAGE, forms
from pipeline.text.word_frequency import is_unusual, is_word, specificity

_CODE = re.compile(r"`([^`\n]{2,40})`|\b([A-Za-z][\w+.-]{1,30})\([1-9]\w{0,3}\)|\b([A-Za-z_][\w.]{1,40}\(\))")
_CLAUSE = re.compile(r"[,;:?!()]+")
_GERMAN_ENDINGS = ("n", "en", "s", "es", "e", "er", "ern")
_LEAST_HEAD = 5  # letters of a noun at the end of a longer one
_OF_PLACES = frozenset({"titled", "documented"})  # marks of spellings that are used only if no sentence has another
_JOINING = frozenset({"of", "for", "de", "von", "van", "der", "du", "da", "di"})


@dataclass
class Candidate:
    """A possible name: its spellings with their counts, and what speaks for it.

    ``defined``: a statement says what it is. ``titled``: a document is called so. ``documented``: a heading is. ``called``: a
    question asks for it, and a document or a section is called so. ``expanded``: a statement says what the letters stand for.
    ``sayings`` are its long or short forms.
    """

    kind: EntityKind
    spellings: Counter[str] = field(default_factory=Counter)
    marks: set[str] = field(default_factory=set)
    sayings: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The spelling that is used most; of equal ones, that with fewer capitals; of a German noun, the shortest."""
        if self.kind == "term" and all(text[0].isupper() and " " not in text for text in self.spellings):
            return min(self.spellings, key=lambda text: (len(text), -self.spellings[text], text))
        return min(self.spellings, key=lambda text: (-self.spellings[text], sum(map(str.isupper, text)), text))


def key_of(name: str, kind: EntityKind, language: str = DEFAULT_LANGUAGE) -> str:
    """Return what the spellings of one name have in common: a single word is kept as it is written, others are stemmed."""
    words = words_of(name)
    if language == UNSPACED:
        return f"~{name}"
    if len(words) == 1 and kind != "term":
        return one_word_key(words[0])
    return " ".join(stem_of(word, language) for word in words)


@lru_cache(maxsize=65_536)
def one_word_key(word: str) -> str:
    """Return the key of a single word as a name: as it is written; in lower case if no everyday word has its letters."""
    plain = exact(word)
    return f"={plain.lower()}" if is_unusual(plain.lower()) else f"={plain}"


@lru_cache(maxsize=65_536)
def exact(word: str) -> str:
    """Return a word without its possessive, the plural of an acronym, and the brackets of a call."""
    plain = re.sub(r"['’]s?$", "", word.removesuffix("()")).rstrip(".'’")
    return plain[:-1] if len(plain) > 2 and plain[-1] == "s" and plain[:-1].isupper() else plain


def stem_of(word: str, language: str) -> str:
    """Return the stem of a whole word."""
    found = forms(word, DEFAULT_LANGUAGE if language == UNSPACED or not language else language)
    return found[0] if found else word.lower()


def candidates(sentences: Iterable[Sentence], statements: Iterable[Statement], questions: Iterable[str]) -> dict[str, Candidate]:
    """Return the candidates by key."""
    read = tuple(sentences)
    found: dict[str, Candidate] = {}
    small = {word for one in read for word in one.words if word[0].islower()}
    for one in read:
        for name, kind, mark in _of_sentence(one, small):
            _add(found, name, kind, mark, one.language)
        for short, long in abbreviations(one):
            _add_pair(found, short, long, one.language)
    known, asked = tuple(statements), tuple(questions)
    wanted = f" {' | '.join(map(subject_key, asked))} "
    languages = {one.statement.url: one.language for one in read if one.language != UNSPACED}
    for statement in known:
        _add_titles(found, statement, languages.get(statement.url, DEFAULT_LANGUAGE), wanted)
    spoken = Counter(one.language for one in read).most_common(1)
    nouns_in_capitals = bool(spoken) and spoken[0][0] in CAPITALISED_NOUNS
    for question in asked:
        for name, kind in _of_question(question, nouns_in_capitals=nouns_in_capitals):
            if kind != "term" or one_word_key(name) not in found:
                _add(found, name, kind, "", spoken[0][0] if nouns_in_capitals else DEFAULT_LANGUAGE)
    for name, kind, language in _called(known, languages, asked):
        _add(found, name, kind, "called", language)
    _pair_initials(found)
    _pair_underscores(found)
    headings = {(text, how) for one in known for text in (one.title, one.heading) for how in ("", languages.get(one.url, ""))}
    for key in {key for text, how in headings for key in grams(words_of(text), how)}:
        if key in found:
            found[key].marks.add("headed")
    return found


def _called(
    known: Iterable[Statement], languages: Mapping[str, str], questions: Iterable[str]
) -> Iterator[tuple[str, EntityKind, str]]:
    """Yield the phrases of questions that a document or a section is called, with the language of that document.

    Where nouns are written as one word, a noun at the end of a longer one counts: "Kohlenmeiler" asks for "Der Meiler".
    """
    calls = {
        subject_key(name): (name, languages.get(one.url, DEFAULT_LANGUAGE))
        for one in known
        for text in (one.title, one.heading)
        for name in calls_of(text)
        if len(name.split()) <= MOST_WORDS
    }
    for clause in (clause for text in questions for clause in _CLAUSE.split(text)):
        words = tuple(map(exact, words_of(clause)))
        for start in range(len(words)):
            phrases = (words[start:end] for end in range(start + MOST_WORDS, start, -1))
            phrase = next((one for one in phrases if subject_key(" ".join(one)) in calls), ())
            if phrase and may_name(phrase[0]) and not any(is_function_word(phrase[place]) for place in (0, -1)):
                name, language = calls[subject_key(" ".join(phrase))]
                as_asked = " ".join(phrase) if language not in CAPITALISED_NOUNS else name
                yield as_asked, _kind_called(phrase, start, language), language
        for word in words:
            for name, language in calls.values():
                if language in CAPITALISED_NOUNS and _is_head(name, word):
                    yield name, "term", language


def _kind_called(phrase: tuple[str, ...], start: int, language: str) -> EntityKind:
    if language in CAPITALISED_NOUNS:
        return "name" if len(phrase) > 1 else "term"
    return "name" if any(word[0].isupper() and start + place > 0 for place, word in enumerate(phrase)) else "term"


def _is_head(name: str, word: str) -> bool:
    """Return whether a German noun is the last part of a longer one."""
    return len(name) >= _LEAST_HEAD <= len(word) - len(name) + 2 and name[0].isupper() and word.lower().endswith(name.lower())


def _of_question(question: str, *, nouns_in_capitals: bool) -> Iterator[tuple[str, EntityKind]]:
    """Yield a question's rare words, and its phrases of two or three words in lower case."""
    for clause in _CLAUSE.split(question):
        words = tuple(map(exact, words_of(clause)))
        for word in words:
            if nouns_in_capitals:
                if may_name(word) and word[0].isupper() and not is_function_word(word, "german"):
                    yield word, "name" if _is_brand(word) else "term"
                elif word.islower() and may_name(word) and is_unusual(word) and not is_word(word, "german"):
                    yield word, "code"  # "mit rsync"
            elif may_name(word) and (is_code(word) or is_unusual(word.lower())):
                yield word, "code" if is_code(word) else "term" if word.islower() else "name"
        for size in (2, 3):
            for start in range(len(words) - size + 1):
                phrase = words[start : start + size]
                if not any(is_function_word(word) or word[0].isupper() for word in phrase):
                    yield " ".join(phrase), "term"


def grams(words: tuple[str, ...], language: str) -> dict[str, int]:
    """Return the keys that a text's words hold, each with the place of its first word."""
    found: dict[str, int] = {}
    for place, word in enumerate(words):
        found.setdefault(one_word_key(word), place)
    stems = [stem_of(exact(word), language) for word in words]
    for size in range(1, MOST_WORDS + 1):
        for start in range(len(stems) - size + 1):
            found.setdefault(" ".join(stems[start : start + size]), start)
    return found


def _add(found: dict[str, Candidate], name: str, kind: EntityKind, mark: str, language: str) -> None:
    key = key_of(name, kind, language)
    if key.strip("=~ "):
        one = found.setdefault(key, Candidate(kind))
        one.spellings[name] += mark not in _OF_PLACES
        one.marks.update([mark] if mark else ())


def _add_pair(found: dict[str, Candidate], short: str, long: str, language: str) -> None:
    kind: EntityKind = "name" if long[0].isupper() else "term"
    for name, other, what in ((short, long, "name"), (long, short, kind)):
        _add(found, name, "name" if what == "name" else "term", "expanded", language)
        found[key_of(name, "name" if what == "name" else "term", language)].sayings.add(other)


def _add_titles(found: dict[str, Candidate], one: Statement, language: str, wanted: str) -> None:
    """Add the names in a title; of a shorter and a longer one only the shorter if the questions, as stems, hold it alone."""
    if name := titled(one.title):
        _add(found, name, "code", "titled", DEFAULT_LANGUAGE)
        found[key_of(name, "code")].marks.update(["glossed"] if gloss_of(one.title) else [])
        if long := expansion(name, title_meaning(one.title)):
            _add_pair(found, name, long, DEFAULT_LANGUAGE)
    names = () if titled(one.title) else names_in_title(one.title)
    asked = [name for name in names if f" {subject_key(name)} " in wanted]
    for name in asked or names:
        if len(name.split()) <= MOST_WORDS and may_name(name) and not is_function_word(name.split()[0], language):
            is_term = name.islower() or (
                " " not in name and (is_ordinary(name) or not (is_unusual(name.lower()) or _is_marked(name)))
            )
            _add(found, name, "term" if is_term else "name", "titled", language)
    heading = one.heading.strip("` ")
    if is_code(heading) and may_name(heading):
        _add(found, heading, "code", "documented", DEFAULT_LANGUAGE)


def _pair_initials(found: dict[str, Candidate]) -> None:
    """Pair an acronym of three letters and more with the one full name among the candidates that it is the initials of."""
    names: dict[str, list[Candidate]] = {}
    for one in list(found.values()):
        words = [part for word in words_of(one.name) if not is_acronym(word) for part in word.split("-")]
        if len(words) > 1 and (one.kind == "name" or "titled" in one.marks):
            names.setdefault(initials(words), []).append(one)
    for one in [one for one in found.values() if one.kind == "name" and is_acronym(one.name) and len(one.name) > 2]:
        longest = max(names.get(one.name.lower(), ()), key=lambda other: (len(other.name), other.name), default=None)
        if longest:
            one.sayings.add(longest.name)
            longest.sayings.add(one.name)


def _pair_underscores(found: dict[str, Candidate]) -> None:
    """Pair a title with underscores and the phrase of the same words: `user_namespaces`, "user namespaces"."""
    for one in [one for one in found.values() if "_" in one.name and "titled" in one.marks]:
        phrase = one.name.replace("_", " ")
        if key_of(phrase, "term") in found:
            one.sayings.add(phrase)


def _of_sentence(one: Sentence, small: AbstractSet[str]) -> Iterator[tuple[str, EntityKind, str]]:
    for name, certain in definitions(one.text, one.language):
        kind = _kind_of(name, one.language, small)
        yield from ((name, kind, mark) for mark in (("defined", "certain") if certain else ("defined",)))
    if one.language == UNSPACED:
        return
    if one.text[0].islower() and is_closed(one.text) and may_name(first := exact(one.words[0])) and not is_ordinary(first):
        yield first, "code", ""  # "pip installs …": a sentence begins in lower case only with a program's name
    for groups in _CODE.findall(one.text):
        code = next(filter(None, groups))
        if may_name(code) and (is_code(code) or groups[1]):
            yield code, "code", "code" if is_code(code) else "chapter"
    for word in one.words:
        if is_code(word) and may_name(word):
            yield word, "code", ""
    for name in _capitalised(one, small):
        yield name, "name", ""
    if one.language in CAPITALISED_NOUNS:
        yield from (
            (word, "term", "") for word in map(exact, one.words[1:]) if word[:1].isupper() and may_name(word) and is_rare(word)
        )


def is_rare(word: str) -> bool:
    """Return whether a single word is in no everyday use, in English or German: "Wintern" is a form of an everyday noun."""
    plain = word.lower()
    forms = (plain, *(plain.removesuffix(end) for end in _GERMAN_ENDINGS if plain.endswith(end) and len(plain) > _LEAST_HEAD))
    return " " not in word and is_unusual(plain) and all(specificity(form, "german") >= 1 for form in forms)


def _kind_of(name: str, language: str, small: AbstractSet[str]) -> EntityKind:
    words = name.split()
    if len(words) == 1 and is_code(name):
        return "code"
    if len(words) == 1 and name[0].isupper() and _is_marked(name):
        return "name"
    if len(words) == 1 and name.islower() and not is_ordinary(name, language):
        return "code" if not name.isalpha() else "term"
    if language in CAPITALISED_NOUNS and len(words) > 1 and all(any(map(str.isupper, word)) for word in words):
        return "name"  # "Lichtwerk Obertal eG": no article or ending joins the words
    is_name = any(word[:1].isupper() and (place > 0 or _only_capital(word, small)) for place, word in enumerate(words))
    return "name" if is_name and language not in CAPITALISED_NOUNS else "term"


def _is_brand(word: str) -> bool:
    """Return whether a word has capitals inside and is no acronym and no compound with a hyphen: AppArmor."""
    return word.isalpha() and _is_marked(word) and not is_acronym(word)


def _is_marked(word: str) -> bool:
    """Return whether a word is a name by its letters wherever it is: an acronym, inner capitals, digits."""
    return any(map(str.isupper, word[1:])) or any(map(str.isdigit, word))


def _only_capital(word: str, small: AbstractSet[str]) -> bool:
    return word.lower() not in small and (_is_marked(word) or not is_ordinary(word))


def _capitalised(one: Sentence, small: AbstractSet[str]) -> Iterator[str]:
    """Yield the runs of capitalised words of a sentence; where nouns are capitalised, only runs of two words and more."""
    run: list[str] = []
    for place, word in enumerate([*one.text.split(), ""]):
        plain = word.strip("([{\"'“”‘’«»„`*_.,;:!?)]}")
        opens = plain[:1].isupper() and may_name(exact(plain)) and (place > 0 or len(plain) > 1)
        if run and (not opens or word[:1] in '(["“‘'):
            if not (plain in _JOINING and word == plain):
                yield from _names_in(run, place - len(run) == 0, one.language, small)
                run = []
            else:
                run.append(plain)
                continue
        if opens:
            run.append(exact(plain))
            if word[-1:] in '.,;:!?)]"”’':
                yield from _names_in(run, place + 1 - len(run) == 0, one.language, small)
                run = []


def _names_in(run: list[str], begins: bool, language: str, small: AbstractSet[str]) -> Iterator[str]:
    while run and run[-1] in _JOINING:
        run = run[:-1]
    if begins and run and (is_function_word(run[0], language) or run[0].lower() in small):
        run = run[1:]
    if len(run) > MOST_WORDS or (
        len(run) < 2 and language in CAPITALISED_NOUNS and not (is_acronym("".join(run)) or _is_brand("".join(run)))
    ):
        return
    if len(run) == 1 and (run[0].lower() in small or (begins and not _is_marked(run[0]))):
        return
    if run:
        yield " ".join(run)
