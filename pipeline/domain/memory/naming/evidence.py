"""Where candidates for names are found: the statements, the sentences about them, and what pages add. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import get_args

from pipeline.domain.memory.naming.candidates import Candidate, grams, key_of
from pipeline.domain.memory.naming.definitions import MOST_WORDS, definitions, title_meaning, titled
from pipeline.domain.memory.naming.own_documents import gloss_of, homes_of, is_called_just, subject_key, subjects_of
from pipeline.domain.memory.naming.prose import CAPITALISED_NOUNS, UNSPACED, Sentence, words_of
from pipeline.domain.memory.naming.telling import (
    FRONT,
    is_at_home,
    is_called,
    is_named,
    is_said_at_home,
    is_same_word,
    is_telling,
    is_whole,
    run_of,
)
from pipeline.domain.memory.naming.united_names import CLASSES
from pipeline.domain.memory.naming.word_classes import is_acronym, is_function_word, word_set
from pipeline.domain.memory.values import EntityKind, EntityPassage
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.stemming import DEFAULT_LANGUAGE, stems
from pipeline.text.word_frequency import is_unusual, specificity

_PASSAGES, _OF_A_PAGE = 12, 5  # sentences of pages that an entity keeps; those of one page
# Sentences and statements from documents of its own that make a name a subject though no question holds it.
_QUOTED_SENTENCES, _QUOTED_STATEMENTS = 6, 3
_OF_GLOSS = 2  # words of a manual's title in the first sentence of its description, for that to say what the thing is
_ASKS = re.compile(r"(?:How|What|Why|When|Where|Wie|Was|Warum|Wann|Wo)\b")
_LEAST_OPENING = 7  # words of a sentence that may open a note
# In English, after a name without an article. What "is" says is a definition, or none ("Kettle is the name of …").
_VERB = re.compile(r"(?!(?:is|was|has|does)\Z)[a-z]+s")
_NO_OPENING = re.compile(
    r"\b(?:this|these|not|no longer|also|then|however|now|n't|nicht|auch|dann|jedoch)\b"
)  # it goes on with something
_LEGAL_FORMS = frozenset({"eg", "gmbh", "ag", "kg", "inc", "ltd", "llc", "corp", "plc"})  # a question leaves them out
_MAY_DEFINE = re.compile(
    r"\b(?:is|are|was|were|means?|called|known as|termed|ist|sind|war|waren|heißt|bezeichnet|versteht)\b|[是は]"
)
_COMMANDS = frozenset({"command", "program", "utility", "tool", "daemon"})
_ARTICLES = frozenset(
    ["the", "a", "an", "each", "every", "this", "der", "die", "das", "ein", "eine", "le", "la", "les", "el", "un", "une"]
)
_BEFORE_NOUNS = word_set(
    """
    a an the of each any this these that in on for with by no every from as into via
    """
)


@dataclass
class Evidence:
    """Where a candidate is named: facts and their pages, those whose sentence begins with it, and whether a question does.

    ``nouns`` counts the sentences that hold it between small words, as only a noun is: "of bad blocks in"; ``home`` those from a
    document or section that is called so. ``telling`` are the sentences about it, of statements and pages, by their text; ``own``
    those of documents and sections about it, which need not hold the name; ``opening`` is the first of such a page. ``alone`` are
    facts about it that put no article before it ("The Debian policy …" is about a policy); ``named`` are those that hold the name
    itself, others are from a document or section that is called so; ``language`` is that of the first.
    """

    facts: dict[str, str] = field(default_factory=dict)
    about: set[str] = field(default_factory=set)
    asked: bool = False
    nouns: int = 0
    home: int = 0
    telling: dict[str, Sentence] = field(default_factory=dict)
    opening: Sentence | None = None
    own: dict[str, Sentence] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)
    language: str = ""

    def merge(self, other: Evidence) -> None:
        """Add what is known of another name of the same thing."""
        self.facts |= other.facts
        self.about |= other.about
        self.asked |= other.asked
        self.nouns += other.nouns
        self.home += other.home
        self.telling |= other.telling
        self.opening = self.opening or other.opening
        self.own |= other.own
        self.named |= other.named
        self.alone |= other.alone
        self.language = self.language or other.language

    @property
    def pages(self) -> set[str]:
        """The addresses of the sources that name it."""
        return {*self.facts.values(), *(one.statement.url for one in self.telling.values())}

    @property
    def told(self) -> int:
        """How many sentences are about it, with those that go on with one, and those of texts that are about it."""
        about = {**self.telling, **self.own}
        return len({text for one in about.values() for text in run_of(one, home=one.text in self.own)})

    @property
    def is_quoted_much(self) -> bool:
        """Whether reports quote much of the documents and sections that are about it."""
        quoted = [one.fact for one in self.own.values() if one.fact and one.statement.cited]
        return len(quoted) >= _QUOTED_SENTENCES and len(set(quoted)) >= _QUOTED_STATEMENTS

    @property
    def read(self) -> tuple[Sentence, ...]:
        """The sentences about it that no statement has."""
        return tuple(one for one in {**self.own, **self.telling}.values() if not one.fact)


def evidence(found: Mapping[str, Candidate], sentences: Sequence[Sentence], questions: Iterable[str]) -> dict[str, Evidence]:
    """Return what the sentences of statements, and the questions, show of each candidate, by its key."""
    held = {key: Evidence() for key in found}
    own = _keys_by_subject(found)
    unspaced = [key for key in found if key[0] == "~"]
    for one in sentences:
        called = _called_so(one)
        for key in called & held.keys():
            held[key].facts.setdefault(one.fact, one.statement.url)
        for key in _keys_at_home(one, own):
            held[key].facts.setdefault(one.fact, one.statement.url)
            held[key].language = held[key].language or one.language
            if is_said_at_home(one):
                held[key].own.setdefault(one.text, one)
        for key, start in _keys_in(one, unspaced).items():
            if key in found and (key in called or _is_meant(found[key], key, one)) and not _is_no_noun(found[key], one, start):
                held[key].facts[one.fact] = one.statement.url
                held[key].named.add(one.fact)
                held[key].language = held[key].language or one.language
                held[key].nouns += _is_noun(key, found[key].kind, start, one)
                held[key].home += _is_home(key, one)
                if _is_named_at(found[key], one, start) and is_telling(one, start, home=key in called):
                    held[key].telling.setdefault(one.text, one)
                    if start < 1 or one.language == UNSPACED or one.words[start - 1].lower() not in _ARTICLES:
                        held[key].alone.add(one.fact)
                if _is_about(key, start, one):
                    held[key].about.add(one.fact)
    spoken = Counter(one.language for one in sentences).most_common(1)
    language = spoken[0][0] if spoken else ""
    bare = {key.rpartition(" ")[0]: key for key in held if key.rpartition(" ")[2] in _LEGAL_FORMS}
    for text in questions:
        places = grams(words_of(text), "") | grams(words_of(text), language) | {key: -1 for key in unspaced if key[1:] in text}
        for key in _outermost({bare.get(key, key): place for key, place in places.items()} | places, found, held):
            held[key].asked = True
    for key, each in held.items():
        each.asked |= "called" in found[key].marks
    return held


def _outermost(places: Mapping[str, int], found: Mapping[str, Candidate], held: Mapping[str, Evidence]) -> Iterator[str]:
    """Yield the candidates at places of a question, without those that are a part of a longer name there."""

    def end(key: str) -> int:
        return places[key] + len(key.split())

    names = [
        key
        for key in places
        if key in found and found[key].kind == "name" and len(held[key].named) > 1 and CLASSES.isdisjoint(key.split()[1:])
    ]
    for key in places.keys() & held.keys():
        if key[0] == "~" or not any(places[one] <= places[key] and end(key) <= end(one) and one != key for one in names):
            yield key


def merge_parts(found: dict[str, Candidate], held: dict[str, Evidence]) -> None:
    """Make the noun that a German name begins with one with the name, if a question asks for the name and no other begins so."""
    names = [key for key, one in found.items() if one.kind == "name" and " " in key and held[key].language in CAPITALISED_NOUNS]
    for key in sorted(names):
        part = key.split()[0]
        others = [other for other in names if other.split()[0] == part and len(held[other].named) > 1]
        if found[key].name.split()[0].endswith("er") and part in found and not found[part].name.endswith("er"):
            continue  # "Seeburger Markt" is in Seeburg, and not the town
        alone = part in found and found[part].kind == "term" and bool(held[part].named - held[key].named)
        whole = held[key].asked or ("titled" in found[key].marks and part in found and held[part].asked)
        if alone and whole and others in ([key], []):
            _merge(found[key], found.pop(part))
            held[key].merge(held.pop(part))


def add_pages(found: Mapping[str, Candidate], held: Mapping[str, Evidence], sentences: Iterable[Sentence]) -> None:
    """Add what the pages say of the candidates that statements name; a page makes no candidate."""
    unspaced = [key for key in found if key[0] == "~"]
    own = _keys_by_subject(found)
    begun: set[str] = set()  # addresses of pages of which the first sentence was seen
    described: set[str] = set()  # the same of the first sentence of a manual's description
    for one in sentences:
        is_description = one.statement.heading.strip().upper() == "DESCRIPTION" and one.statement.url not in described
        described.update([one.statement.url] if is_description else ())
        if not is_whole(one):
            continue
        front = _keys_in(one, unspaced, FRONT + MOST_WORDS)
        called = _called_so(one)
        if (gloss := gloss_of(one.statement.title)) and one.text == gloss:
            for key in own.get(subject_key(titled(one.statement.title)), ()):
                held[key].opening = held[key].opening or one
        for key, certain in _defined(one).items() if _MAY_DEFINE.search(one.text) else ():
            if key in found and held[key].facts:
                found[key].marks.update(("defined", "certain") if certain else ("defined",))
                held[key].telling.setdefault(one.text, one)
        for key in _keys_at_home(one, own):
            if held[key].own and is_said_at_home(one):
                held[key].own.setdefault(one.text, one)
        places = front | {key: start for key, start in _keys_in(one, unspaced).items() if key in called} if called else front
        for key, start in places.items():
            if key not in found or not held[key].facts or not _is_named_at(found[key], one, start):
                continue
            if (key in called or _is_meant(found[key], key, one)) and is_telling(one, start, home=key in called):
                held[key].telling.setdefault(one.text, one)
                if held[key].opening is None and _is_opening(one, start, found[key]):
                    held[key].opening = one
        if one.statement.url not in begun:
            for key in _keys_at_home(one, own):
                if held[key].opening is None and _opens(one, found[key]):
                    held[key].opening = one
        if is_description and (gloss := title_meaning(one.statement.title)):
            for key in own.get(subject_key(titled(one.statement.title)), ()):
                if held[key].opening is None and len(content_stems(gloss) & content_stems(one.text)) >= _OF_GLOSS:
                    held[key].opening = one
        begun.add(one.statement.url)


def _keys_by_subject(found: Mapping[str, Candidate]) -> dict[str, list[str]]:
    """Return the candidates' keys by the names that a document's title may have."""
    keys: dict[str, list[str]] = {}
    for key in sorted(found):
        for subject in {subject_key(name) for name in found[key].spellings} - {""}:
            keys.setdefault(subject, []).append(key)
    return keys


def _keys_at_home(one: Sentence, keys: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the keys of the candidates that a sentence's document or section is about, out of ``keys`` by subject."""
    return {key for subject in homes_of(one.statement, one.text) for key in keys.get(subject, ())}


def _opens(one: Sentence, candidate: Candidate) -> bool:
    """Return whether a page's first sentence may open the note of a name: the page is called so, and its first lines name it."""
    names = {*candidate.spellings, *candidate.sayings}
    if _ASKS.match(one.text):
        return False
    return is_called_just(one.statement.title, names) and is_named(names, " ".join(run_of(one, home=True)))


def _is_opening(one: Sentence, start: int, candidate: Candidate) -> bool:
    """Return whether a sentence that begins with a name and a verb is from a document that is called so: "tar packs files …"."""
    if len(one.words) < _LEAST_OPENING or start > (one.language in CAPITALISED_NOUNS):
        return False
    if one.language == DEFAULT_LANGUAGE and _VERB.fullmatch(one.words[len(candidate.name.split())]) is None:
        return False
    own = subjects_of(one.statement.title) | homes_of(one.statement.model_copy(update={"heading": ""}), one.text)
    return _NO_OPENING.search(one.text) is None and not own.isdisjoint(map(subject_key, candidate.spellings))


def merge_pairs(found: dict[str, Candidate], held: dict[str, Evidence]) -> None:
    """Make a short form, or one with underscores, and its only full name one candidate, called as it is called more often."""
    for key in sorted(found):
        one = found.get(key)
        others = {other for name in one.sayings for other in _keys_of(name) if other in found and other != key} if one else set()
        if one is None or not (is_acronym(one.name.upper()) or "_" in one.name) or len(others) != 1:
            continue
        (other,) = others
        main, gone = sorted((key, other), key=lambda name: ("_" in name, -len(held[name].facts), name))
        _merge(found[main], found.pop(gone))
        held[main].merge(held.pop(gone))


def _keys_of(name: str) -> set[str]:
    return {key_of(name, kind) for kind in get_args(EntityKind)}


def _merge(main: Candidate, gone: Candidate) -> None:
    main.sayings |= {*gone.spellings, *gone.sayings} - {*main.spellings}
    main.marks |= gone.marks
    main.kind = "name" if "name" in (main.kind, gone.kind) else main.kind


def _called_so(one: Sentence) -> AbstractSet[str]:
    """Return the keys of the names that the sentence's document or section is called."""
    return _keys_called(one.statement.title, one.language) | _keys_called(one.statement.heading, one.language)


@lru_cache(maxsize=4_096)
def _keys_called(text: str, language: str) -> frozenset[str]:
    return frozenset(key for key, start in grams(words_of(text), language).items() if is_called(text, [key.lstrip("=")]))


def _is_named_at(candidate: Candidate, one: Sentence, start: int) -> bool:
    """Return whether the word at a place is one of the names, and not only a word with the same stem."""
    if one.language == UNSPACED:
        return True
    return any(" " in name or is_same_word(name, one.words[start]) for name in candidate.spellings)


def _defined(one: Sentence) -> dict[str, bool]:
    """Return the keys of what a sentence defines, and whether it can only be a definition."""
    named = definitions(one.text, one.language)
    return {key_of(name, kind, one.language): certain for name, certain in named for kind in get_args(EntityKind)}


def _keys_in(one: Sentence, unspaced: Iterable[str], front: int | None = None) -> dict[str, int]:
    """Return the keys that a sentence, or its first ``front`` words, holds, each with the place of its first word."""
    if one.language == UNSPACED:
        return {key: one.text.find(key[1:]) for key in unspaced if key[1:] in one.text}
    return grams(one.words[:front], one.language)


def _is_meant(candidate: Candidate, key: str, one: Sentence) -> bool:
    """Return whether a word that is also an everyday one is meant as a name here: `mount(8)`, "mount attaches …"."""
    name = key[1:]
    if candidate.kind != "code" or key[0] != "=" or not name.isalpha():
        return True
    if is_unusual(name) or specificity(name, "english") >= 1:
        return True
    if one.text.startswith(f"{name} ") or f"{name}(" in one.text or f"`{name}" in one.text:
        return True
    return any(word == name and after in _COMMANDS for word, after in zip(one.words, one.words[1:], strict=False))


def _is_no_noun(candidate: Candidate, one: Sentence, start: int) -> bool:
    """Return whether a word has no capital where the name has one and all nouns do: "sieben" (seven) is no sieve."""
    if one.language not in CAPITALISED_NOUNS or not one.words[start][:1].islower():
        return False
    return all(" " not in name and name[:1].isupper() for name in candidate.spellings)


def _is_about(key: str, start: int, one: Sentence) -> bool:
    if start == 0 or (start == 1 and one.words[0].lower() in _ARTICLES):
        return True
    return key == f"={titled(one.statement.title)}"


def _is_home(key: str, one: Sentence) -> bool:
    return any(key in grams(words_of(text), one.language) for text in (one.statement.title, one.statement.heading))


def _is_noun(key: str, kind: EntityKind, start: int, one: Sentence) -> bool:
    """Return whether a sentence uses a phrase as a noun. A name needs nothing before it, and no small word after it at an end."""
    if one.language == UNSPACED:
        return True
    if one.language in CAPITALISED_NOUNS:
        return one.words[start][0].isupper()
    end = start + len(key.split(" "))
    before = one.words[start - 1].lower() if start else ""
    closed = end >= len(one.words) or is_function_word(one.words[end], one.language)
    if kind == "name":
        return closed or re.search(rf"{re.escape(one.words[end - 1])}[”\"’)]*[,.;:)]", one.text) is not None
    return closed and before in _BEFORE_NOUNS


def passages(one: Candidate, held: Evidence) -> tuple[EntityPassage, ...]:
    """Return the best runs of sentences of pages: definitions first, then those of the documents that statements are from."""
    names = {*one.spellings, *one.sayings}
    cited = set(held.facts.values())

    def order(found: Sentence) -> tuple[bool, bool, str]:
        return not defines(found, names), found.statement.url not in cited, found.statement.url

    taken: Counter[str] = Counter()
    kept: list[EntityPassage] = []
    quoted: set[str] = set()
    opening = held.opening if not one.marks & {"defined"} else None
    for found in ([opening] if opening else []) + sorted((other for other in held.read if other is not opening), key=order):
        url = found.statement.url
        if taken[url] < _OF_A_PAGE and len(kept) < _PASSAGES and found.text not in quoted:
            taken[url] += 1
            run = run_of(found, home=is_at_home(found, names))
            quoted.update(run)
            place = {"url": url, "digest": found.statement.digest, "title": found.statement.title}
            kept.append(EntityPassage(text=" ".join(run), defines=found is opening or defines(found, names), **place))
    return tuple(kept)


def defines(found: Sentence, names: AbstractSet[str]) -> bool:
    """Return whether a sentence says what one of the ``names`` is."""
    wanted = {" ".join(stems(name)) for name in names}
    return any(" ".join(stems(name)) in wanted for name, _certain in definitions(found.text, found.language))
