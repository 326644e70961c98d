"""Which name a sentence defines: "A torn write is a record …", "Unter einem Riss versteht man …", "灯台とは …". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pipeline.domain.memory.naming.prose import UNSPACED, Sentence
from pipeline.domain.memory.naming.word_classes import is_function_word, is_generic, is_ordinary, may_name

MOST_WORDS = 4
_NAME = r"[^\W_][\w’'.+#/-]*(?:\(\))?(?:\s+[\w’'.+#/-]+){0,4}?"
_GLOSS = r"(?:\s*\([^()]{1,80}\))?(?:,\s[^,]{2,80},)?"
_COPULAS = {  # articles; verbs that define; what follows them
    "english": (r"An?|The", r"is|are|was|were|means?|shall mean|refers? to|denotes?", r"an?|the|any|one|what|how|that part"),
    "german": (
        r"Ein|Eine|Der|Die|Das",
        r"ist|sind|war|waren|bezeichnet|heißt",
        r"(?:ein|eine|einer|der|die|das|jede[rs]?)(?=(?:\s+[\da-zäöüß-]+(?:e|er|es|en|em|\d))*\s+[A-ZÄÖÜ])",  # with a noun
    ),
    "french": (r"Une?|Le|La|Les|L['’]", r"est|sont|était|désigne", r"une?|le|la|les|l['’]\w+|des"),
    "spanish": (r"Una?|El|La|Los|Las", r"es|son|era|fue", r"una?|el|la|los|las"),
    "italian": (r"Un['’]?|Uno|Una|Il|Lo|La|I|Gli|Le", r"è|sono|era|fu", r"un['’]?\w*|una|uno|il|lo|la|i|gli|le"),
    "portuguese": (r"Uma?|O|A|Os|As", r"é|são|era|foi", r"uma?|o|a|os|as"),
    "dutch": (r"Een|De|Het", r"is|zijn|was|waren", r"een|de|het"),
    "swedish": (r"En|Ett", r"är|var", r"en|ett|den|det"),
}
_PLURAL = re.compile(
    rf"(?P<name>{_NAME}){_GLOSS}\s+are\s+(?:[\w-]+\s+){{0,2}}[a-z]+s\s+(?:that|which|whose|of|in|with|for|used)\b"
)
_QUOTED = re.compile(
    rf"[“\"‘«„]\s*(?P<name>{_NAME})\s*[”\"’»“](?:\s*\([^()]{{1,60}}\))?"
    r"\s+(?:means?|shall mean|refers? to|bezeichnet|(?:is|are)\s+(?:an?|the|any|what))\b"
)
# "Kettle, the harbour's clerk program, …", "Der Torfling, ein Haufen aus Torf, …"
_BESIDE = re.compile(
    rf"(?:(?:The|Der|Die|Das)\s+)?(?P<name>{_NAME})(?:\s*\([^()]{{1,60}}\))?,\s+(?:an?|the|eine?)\s+\w[^,]{{8,90}},\s"
)
_CALLED = re.compile(
    r"(?<!hereafter )(?<!hereinafter )(?<!henceforth )\b(?:called|known as|termed|referred to as|so-called)\s+"
    r"(?:an?\s+|the\s+)?[“\"'`]?"
    r"(?P<name>(?<=[“\"'`])[a-z][\w-]{3,}|[a-z][\w-]+(?:\s[\w-]+){1,2}|[A-Z][\w-]+)"
    r"[”\"'`]?(?=[.,;)]|\s\()"
)
_GERMAN = re.compile(rf"(?:Unter|Als)\s+(?:eine[mnr]?\s+|de[mnr]\s+)?(?P<name>{_NAME})\s+(?:versteht|bezeichnet|wird|werden)\b")
_CJK = re.compile(
    "[「『]?(?P<name>[\u30a0-\u30ff\u3400-\u9fffA-Za-z0-9ー・]{2,20}?)[」』]?(?:（[^（）]{1,40}）)?"
    "(?:とは|は、?(?=.*(?:である|です|の一種|のこと|をいう|を指す)[。]?$)|是(?=一[种種個个]|指))"
)
_HOW = r"(?:usual|general|typical|common|basical|essential|simp|technical|normal|current|main|original|primari|actual)ly"
_CLASS = re.compile(r"(?<=\w)\s+(?:command|program|utility|tool|daemon)s?$")
# "Caraway is a must.", "The hall is a hit with children": said of a thing, and no definition.
_JUDGEMENT = re.compile(
    r"\s+(?:[\w-]+\s*){1,2}[.!?]?$|\s+(?:very |big |great |real )?(?:must|hit|pity|lot|bit|matter|problem|joy|"
    r"success|failure|shame|risk|pleasure|good|bad|few|question|result|part|case)\b"
    r"|(?<=one)\s+of\s+(?:many|several|some|a)\b|\s+(?:[\w-]+\s+){0,2}(?:commitment|challenge|choice|decision|mistake|idea|effort|undertaking|burden|advantage|drawback)\b"
)
# "Kettle is the name of …", "… the word for": it says where a name is from. A contract's "“Work” means" holds in the contract.
_OF_THE_WORD = re.compile(r"\s+(?:\w+\s){0,2}(?:name|word|term|nickname|spelling)\s+(?:of|for|that)\b")
_CONTRACT = re.compile(r"[”\"’»“\s]+(?:\([^()]{1,60}\)\s+)?(?:shall\s+)?means?\b")
_PRAISE = re.compile(
    r"\s+(?:(?:very|most|extremely)\s+)?(?:useful|powerful|great|popular|nice|handy|wonderful|important|difficult|hard|tricky|delicate)\b"
)
_HERE = re.compile(r"(?:Here|In this (?:section|page|context|paragraph)|In (?:the following|what follows))\b")
_TITLE = re.compile(r"(?P<name>[\w.+-]{2,30}\([1-9]\w{0,4}\)|[a-z][a-z0-9_.+-]{1,30}(?=:\s\w+\s\w+\s\w)):\s+(?P<what>\S.*)")
_EXPANDED = re.compile(r"(?P<long>[A-Za-z][\w-]*(?:[\s-]+[A-Za-z][\w-]*){1,6})\s+\((?P<short>[A-Z][A-Za-z0-9]{1,7})\)")
_SHORTENED = re.compile(r"\b(?P<short>[A-Z][A-Z0-9]{1,7})\s+\((?P<long>[A-Za-z][\w-]*(?:[\s-]+[A-Za-z][\w-]*){1,6})\)")


class Definition(NamedTuple):
    """A name that a sentence defines; ``certain`` if nothing but a definition is written so."""

    name: str
    certain: bool


class Abbreviation(NamedTuple):
    """A short form, and the words that it stands for."""

    short: str
    long: str


@lru_cache(maxsize=65_536)
def definitions(text: str, language: str) -> tuple[Definition, ...]:
    """Return the names that a sentence defines, each once."""
    return tuple(dict.fromkeys(_definitions(text, language)))


def _definitions(text: str, language: str) -> Iterator[Definition]:
    if language == UNSPACED:
        if found := _CJK.match(text):
            yield Definition(found["name"], certain=True)
        return
    for pattern, certain in _patterns(language):
        for match in pattern.finditer(text) if pattern in (_QUOTED, _CALLED) else filter(None, [pattern.match(text)]):
            name = _CLASS.sub("", " ".join(match["name"].split()))
            if _is_contracts(pattern, match, name) or (pattern is _BESIDE and not _is_distinct(name)):
                continue
            if _is_term(name, language) and not _is_of_this_place(match, name) and not _is_aside(text, match):
                yield Definition(name, certain)


def _patterns(language: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    if language in _COPULAS:
        yield _copula(language), False
    yield _QUOTED, True
    yield _BESIDE, False
    if language == "english":
        yield from ((_PLURAL, False), (_CALLED, False))
    elif language == "german":
        yield _GERMAN, True


@lru_cache(maxsize=16)
def _copula(language: str) -> re.Pattern[str]:
    articles, verbs, what = _COPULAS[language]
    return re.compile(
        rf"(?:(?P<article>{articles})\s+)?(?P<name>{_NAME}){_GLOSS}\s+(?:{verbs})\s+(?:{_HOW}\s+)?(?P<what>{what})\b"
    )


def _is_term(name: str, language: str) -> bool:
    words = name.split()
    inner = words[1:-1] if words[0][0].isupper() else words
    return (
        len(words) <= MOST_WORDS
        and not is_function_word(words[0], language)
        and not is_function_word(words[-1], language)
        and not any(is_function_word(word, language) for word in inner)
        and not is_generic(name)
        and any(map(may_name, words))
        and not (name.isupper() and is_ordinary(name, language))  # FILE, LEVEL: a place in a call's syntax
    )


def _is_distinct(name: str) -> bool:
    """Return whether a name before a comma is no adverb or clause: it has a word that is none of everyday language."""
    return name[0].isupper() and any(not is_ordinary(word) and not word.endswith("ly") for word in name.split())


def _is_aside(text: str, match: re.Match[str]) -> bool:
    """Return whether the words judge, or say only what a word means at this place: "Here, “privileged” means …"."""
    after = (pattern.match(text, match.end()) for pattern in (_JUDGEMENT, _OF_THE_WORD, _PRAISE))
    return any(after) or text.rstrip("\"'”’»)").endswith("?") or _HERE.match(text) is not None


def _is_contracts(pattern: re.Pattern[str], match: re.Match[str], name: str) -> bool:
    """Return whether a contract gives a word in capitals a sense of its own: "“Licensor” shall mean …"."""
    if pattern is not _QUOTED or not name[0].isupper():
        return False
    return _CONTRACT.match(match.string, match.end("name")) is not None


def _is_of_this_place(match: re.Match[str], name: str) -> bool:
    """Return whether "the …" is said of what is before the reader: "The device is the one named above"."""
    groups = match.groupdict()
    return (groups.get("article") or "") == "The" and name.islower() and (groups.get("what") or "") not in ("a", "an")


def titled(title: str) -> str:
    """Return the name that a document's title defines: ``xz(1): Compress files``, ``xz: Compress files``; "" if it is none."""
    found = _TITLE.match(title)
    return found["name"].partition("(")[0] if found else ""


def title_meaning(title: str) -> str:
    """Return what a title of that form says of its name; "" if it is none."""
    found = _TITLE.match(title)
    return found["what"] if found else ""


def expansion(name: str, meaning: str) -> str:
    """Return the words of a title's meaning that a name is the initials of: "tbf", "Token Bucket Filter"; "" if none."""
    words = re.split(r"[\s-]+", meaning.split(",")[0].strip(" ."))
    return " ".join(words) if len(words) > 1 and initials(words) == name.lower() else ""


def initials(words: Sequence[str]) -> str:
    """Return the first letters of words in lower case, without those of small words like "of"."""
    return "".join(word[0].lower() for word in words if word and not is_function_word(word))


def abbreviations(sentence: Sentence) -> Iterator[Abbreviation]:
    """Yield the short forms that a sentence explains: "Universally Unique Identifier (UUID)", "CRC (cyclic redundancy check)"."""
    if "(" not in sentence.text:
        return
    for match in (*_EXPANDED.finditer(sentence.text), *_SHORTENED.finditer(sentence.text)):
        words = re.split(r"[\s-]+", match["long"])
        letters = [sign.lower() for sign in match["short"].rstrip("s") if sign.isalnum()]
        for start in range(len(words)):
            tail = words[start:]
            if is_function_word(tail[0]):
                continue
            if _initials(tail) == letters or _initials([word for word in tail if not is_function_word(word)]) == letters:
                yield Abbreviation(match["short"], _tail(match["long"], len(tail)))
                break


def _initials(words: list[str]) -> list[str]:
    return [word[0].lower() for word in words]


def _tail(text: str, count: int) -> str:
    return " ".join(re.split(r"(?<=[\s-])(?=\S)", text)[-count:]).replace("- ", "-").replace("  ", " ").strip()
