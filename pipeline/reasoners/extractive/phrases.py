"""Phrases fit to be shown: the subject of a question, tidy headings, and the phrases that hits keep coming back to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pipeline import terms
from pipeline.vocabulary import AUXILIARIES, COMMON, STOP, VERBS, word_list

_PIECE = re.compile(r"[^\s.,;:!?()\[\]{}<>\"“”|/=*#`]+(?:\.[^\s.,;:!?()\[\]{}<>\"“”|/=*#`]+)*")
_NUMBERING = re.compile(
    r"^(?:(?:chapter|section|part|appendix) )?(?:\d+(?:\.\d+)*|[A-Z]|[ivx]+)[.):]\s+|^\d+(?:\.\d+)+\s+|^§\s*", re.I
)
_KEYWORD = re.compile(r"^(?:(?:abstract|async|static|final|coroutine|property|function|method) )*", re.IGNORECASE)
_TYPED = re.compile(r"^(?:class|exception|classmethod|staticmethod|data|module) (?=\S*[._A-Z(])")
_GENERIC = word_list(
    """
    introduction overview example examples note notes contents summary footnotes references conclusion background general
    about details description usage see also synopsis basics preface abstract discussion appendix index related
    miscellaneous other faq tutorial documentation reference further reading changelog history results home readme data
    functions classes exceptions constants methods
    answer answers short brief long question questions asked frequently heard objections purpose memo text modest proposal
    method methods found finding findings results report what who why how when where which worked works changed change
    lessons learnt learned wrong right practice means remains open side case against short version point points first last
    """
)
_DULL = _GENERIC | STOP | word_list("handbook survey lecture critique field post mortem workshop operations editors desk")
_AFTER_PRONOUN = re.compile(r"\b(I|you|we|they|one|it|to) (?!and\b)[a-z]+(?:['’]t)?\b", re.IGNORECASE)  # what follows is a verb
_QUALIFIERS = word_list("wrong right good bad best better worse worst main important possible necessary sure aware")
_LONGEST = 64


def heading(text: str) -> str:
    """Return a heading fit for display: without numbering and long argument lists, opening with a capital; "" when generic."""
    plain = _NUMBERING.sub("", " ".join(text.replace("¶", "").split())).strip(" .:-–—#")
    plain = _TYPED.sub("", _without_keywords(plain))
    plain = _fuller_part(plain)
    name, bracket, rest = plain.partition("(")
    if bracket and " " not in name and name:
        plain = f"{name}()"
    elif len(plain) > _LONGEST:
        plain = plain[:_LONGEST].rsplit(" ", 1)[0].rstrip(" ,;:(–—-")
    if all(word.lower() in _GENERIC or word.lower() in STOP for word in terms.words(plain)) or rest.count("|") > 2:
        return ""
    return plain if is_identifier(plain.split(" ")[0]) else plain[:1].upper() + plain[1:]


def _without_keywords(signature: str) -> str:
    """Return a signature's heading without "static" and the like; "Static sites" is no signature."""
    name = _KEYWORD.sub("", signature)
    return name if is_identifier(name.split(" ")[0]) else signature


def _fuller_part(title: str) -> str:
    """Return the part of "Lecture notes: event logs" that names more; a title without a colon as it is."""
    before, colon, after = title.partition(": ")
    if not colon:
        return title
    return max((after, before), key=lambda part: sum(word.lower() not in _DULL for word in terms.words(part)))


def is_identifier(word: str) -> bool:
    """Tell whether ``word`` is a name from a program, whose letters must stay as they are."""
    return bool(re.search(r"[_()]|\w\.\w|[a-z][A-Z]|^-|\d", word))


@lru_cache(maxsize=512)
def subject(query: str) -> str:
    """Return what a question is about, in its own words: its weightiest noun phrases, at most three, in their order."""
    found = list(dict.fromkeys(_runs(_AFTER_PRONOUN.sub(r"\1 ,", query))))
    if not found:
        return " ".join(query.split()).rstrip("?!. ")
    weights = terms.needs(query)
    scores = [sum(weights.get(form, 0.0) for word in run for form in terms.forms(word)[:1]) for run in found]
    best = sorted(sorted(range(len(found)), key=lambda place: (-scores[place], place))[:3])
    return listed([_with_article(query, " ".join(found[place])) for place in best])


@lru_cache(maxsize=512)
def core(query: str) -> tuple[str, ...]:
    """Return the words of a question's noun phrases, as written and in order: what its searches are tied to."""
    nouns = [word for run in _runs(_AFTER_PRONOUN.sub(r"\1 ,", query)) for piece in run for word in terms.words(piece)]
    told = [word for word in dict.fromkeys(nouns) if terms.forms(word)]
    return tuple(told) if len(told) > 1 else tuple(salient_words(query))


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _with_article(query: str, phrase: str) -> str:
    article = re.search(rf"\b(an?|the) {re.escape(phrase)}", query, re.IGNORECASE)
    return f"{article[1].lower()} {phrase}" if article else phrase


def _runs(text: str, longest: int = 4) -> Iterator[tuple[str, ...]]:
    """Yield the noun-like runs of words between stop words, verbs and punctuation."""
    run: list[str] = []
    end = 0
    for match in _PIECE.finditer(text):
        word = match[0].strip("'’-–—_") or match[0]
        broken = text[end : match.start()].strip() != "" or len(run) >= longest
        if run and (broken or _parts_phrases(word)):
            yield tuple(run)
            run = []
        if not _parts_phrases(word):
            run.append(word)
        end = match.end()
    if run:
        yield tuple(run)


def _parts_phrases(word: str) -> bool:
    lowered = word.lower()
    if lowered in STOP or lowered in AUXILIARIES or lowered in VERBS or lowered in _QUALIFIERS:
        return True
    return (lowered.endswith("ly") and len(lowered) > 5 and "-" not in lowered) or not any(
        character.isalpha() for character in word
    )


def key_phrases(text: str) -> list[str]:
    """Return the phrases of two or three words in ``text`` that may name a subtopic, in order."""
    return [" ".join(run) for run in _runs(text, 3) if len(run) >= 2 and not _is_dull(run)]


def _is_dull(run: tuple[str, ...]) -> bool:
    dull = sum(word.lower() in COMMON or len(word) < 3 for word in run)
    return dull >= len(run) - 1 or run[-1].lower().endswith(("ly", "ed")) or run[0].lower().endswith("ly")


def salient_words(query: str, limit: int = 6) -> list[str]:
    """Return the words of a question that tell most, as written and in order, at most ``limit``."""
    weights = terms.needs(query)
    words = list(dict.fromkeys(word for word in terms.words(query) if terms.forms(word)))
    ranked = sorted(words, key=lambda word: (-max(weights[form] for form in terms.forms(word)), words.index(word)))
    kept = set(ranked[:limit])
    return [word for word in words if word in kept]
