"""What kind of answer a question wants, and how far a statement looks like one of that kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from pipeline import terms
from pipeline.reasoners.extractive.needs import asks_for_default
from pipeline.vocabulary import NUMBER_WORDS

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("version", r"\b(?:which|what|since (?:which|what)|in (?:which|what)) (?:\w+ )?(?:version|release)\b|since when"),
        ("date", r"\bwhen (?:was|were|did|is|will|has)\b|\b(?:which|what) (?:year|date|month|day|century)\b|\bhow old\b"),
        (
            "number",
            r"\bhow (?:many|much|long|large|big|often|fast|small|far|high|slow|deep)\b"
            r"|\b(?:size|limit|maximum|minimum|number|percentage|share|rate|range|port|length|count|capacity|precision|timeout)\b",
        ),
        ("default", r"\bdefaults?\b|\bby default\b"),
        ("error", r"\b(?:do|does|did|will|would|can|is|get|gets)\b.{0,60}\braised?\b|^(?:which|what) (?:error|exception)"),
        ("why", r"^why\b|\b(?:reason|purpose|cause)s?\b|\bwhat (?:is|are) .{1,60} for\?"),
        ("name", r"\b(?:which|what)\b.{0,40}?\b(?:%s)s?\b|^who\b"),
        (
            "doubt",
            r"\bgo wrong\b|\bwatch out\b|\bpitfalls?\b|\bcaveats?\b|\bcareful\b|\bbeware\b"
            r"|\blimits or drawbacks\b|\bavoid\b|\bdisagree\b|\bwarnings\b|\b(?:risks?|dangers?|limitations)\b",
        ),
        ("choice", r"^(?:is|are|does|do|can|could|should|will|would|must|has|have|was|were|may)\b|\bwhether\b"),
        ("definition", r"^(?:what|who) (?:is|are|was|were)\b|\bwhat does .{1,40} mean\b|^define\b|\bmeaning of\b"),
        ("how", r"^how (?:do|does|did|can|could|should|would|is|are|to|might|may)\b|\b(?:way|ways|means) (?:to|of)\b"),
        ("effect", r"\bwhat happens\b|\bwhat (?:does|do|did|will|would)\b.{1,80}\b(?:do|return|raise|mean|cause)\b"),
    )
    for pattern in (
        pattern.replace(
            "%s",
            "function|method|module|class|exception|error|attribute|argument|parameter|option|flag|variable|command|type|constant"
            "|operator|keyword|statement|decorator|tool|library|protocol|algorithm|format|signal|encoding|file|name|value|field|setting",
        ),
    )
)

_DIGITS = re.compile(r"\d")
_YEAR = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|\b(?:January|February|March|April|June|July|August|September|October|November|December)\b"
)
_VERSION = re.compile(r"\b(?:version|release|Python|since|v)\.? ?\d+(?:\.\d+)*|\b\d+\.\d+(?:\.\d+)*\b", re.IGNORECASE)
_DEFAULT = re.compile(r"\bdefault|\bif (?:omitted|not (?:given|specified|provided))|\botherwise\b|\bunless\b", re.IGNORECASE)
_VALUE = re.compile(r"\d|\b(?:None|True|False|null|empty|zero|one|never|no)\b|['\"][^'\"]{1,20}['\"]")
_REASON = re.compile(
    r"\b(?:because|since|so that|therefore|due to|reasons?|in order to|to (?:avoid|prevent|ensure|protect|allow|make)|otherwise"
    r"|thus|hence|as a result|which (?:means|is why)|prevents?|avoids?|ensures?|useful|intended)\b",
    re.IGNORECASE,
)
_MEANS = re.compile(
    r"\b(?:by \w+ing|using|use|uses|with|call(?:s|ing)?|set(?:s|ting)?|pass(?:ing)?|via|through|first|then"
    r"|must|should|can|write|writes"
    r"|to (?:\w+e|do|get|set|add|run|read|open|call))\b",
    re.IGNORECASE,
)
_DEFINING = re.compile(
    r"^(?:An? |The )?(?:[\w.()'`-]+ ){1,6}(?:is|are|was|were|means|refers? to|denotes?|describes?|represents?|provides?"
    r"|stands? for|consists? of) (?:an?|the|one|any|that|how|to|\w+)\b|\b(?:is|are) (?:called|known as|defined as)\b"
)
_POLAR = re.compile(
    r"\b(?:not|never|no|only|always|must|cannot|can|may|does|guaranteed|safe|unsafe|possible|allowed|required|supported|should)\b|n't\b",
    re.IGNORECASE,
)
_OUTCOME = re.compile(
    r"\b(?:returns?|raises?|raised|results?|causes?|will|is|are|becomes?|discards?|ignored|instead|if|when)\b", re.IGNORECASE
)
_DOUBT = re.compile(
    r"\b(?:cannot|not|never|fails?|failure|errors?|unsafe|insecure|limits?|limitations?|limited|slow(?:er)?|deprecated|warnings?|caution"
    r"|careful|avoid|unless|however|lose|lost|loss|risk|drawbacks?|problems?|vulnerable|corrupt(?:ed|ion)?|unreliable|wrong|disputed)\b"
    r"|n't\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:should|must|recommended|prefer(?:red|ably)?|always|ensures?|make sure|important|note that|instead|best|useful"
    r"|can be used|allows?|supports?|by default)\b",
    re.IGNORECASE,
)
# "See …", "… for more information.", "This section describes …", "… as follows:": it says where something stands, not what.
_ELSEWHERE = re.compile(
    r"^\(?(?:see|refer to|consult|compare)\b"
    r"|\bfor (?:(?:more|further|some|full|additional) )?(?:details?|information|examples?|recipes)\b[^.]{0,40}[.)]*$"
    r"|^(?:this|the next|the following|the rest of this) (?:\w+ )?(?:section|chapter|document|page|tutorial|examples?)\b|:$",
    re.IGNORECASE,
)
_EXACT = frozenset({"version", "date", "number", "default", "name", "choice", "error"})
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Interrupt)\b")
_RAISING = re.compile(r"\brais(?:es?|ed|ing)\b")
_STRONG = re.compile(
    r"\b(?:returns?|raise[sd]?|errors?|exceptions?|ignore[sd]?|discard(?:s|ed)?|fails?|blocks?|causes?|becomes?|undefined|deadlocks?)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\b\w+\(\)|\b\w+(?:\.\w+)+|\b[A-Z]\w*[a-z]\w*[A-Z]\w*|\b[a-z]+_\w+"
    r"|(?<=[\w,;] )[A-Z][\w-]+|-{1,2}[a-z][\w-]*|['\"][^'\"]{1,20}['\"]"
)


@lru_cache(maxsize=1024)
def kinds(question: str) -> tuple[str, ...]:
    """Return the kinds of answer that ``question`` may want, the surest first; none when nothing tells."""
    plain = question.strip()
    found = tuple(kind for kind, pattern in _KINDS if pattern.search(plain))
    return found if "default" in found or not asks_for_default(question) else ("default", *found)


def fit(question: str, statement: str) -> float:
    """Return how far ``statement`` looks like an answer of a kind that ``question`` wants, 0 to 1; 0.5 when nothing tells."""
    wanted = kinds(question)
    if not wanted:
        return 0.5
    asked = terms.needs(question)
    found = [_FITS[kind](statement, asked) for kind in wanted[:3]]
    return 0.75 * max(found) + 0.25 * sum(found) / len(found)


def _new(found: list[str], asked: Mapping[str, float]) -> bool:
    return any(all(form not in asked for form in terms.forms(word)) for text in found for word in terms.words(text))


def _number(statement: str, asked: Mapping[str, float]) -> float:
    if _new(terms.numbers(statement), asked):
        return 1.0
    plain = statement.lower().split()
    return 0.6 if any(word.strip(".,;") in NUMBER_WORDS for word in plain) else 0.1 * bool(_DIGITS.search(statement))


def _version(statement: str, asked: Mapping[str, float]) -> float:
    return 1.0 if _new(_VERSION.findall(statement), asked) else 0.0


def _date(statement: str, asked: Mapping[str, float]) -> float:
    return 1.0 if _new(_YEAR.findall(statement), asked) else 0.3 * bool(_POLAR.search(statement))


def _default(statement: str, asked: Mapping[str, float]) -> float:
    return 0.6 * bool(_DEFAULT.search(statement)) + 0.4 * (
        bool(_VALUE.search(statement)) or _new(_NAME.findall(statement), asked)
    )


def _name(statement: str, asked: Mapping[str, float]) -> float:
    return 1.0 if _new(_NAME.findall(statement), asked) else 0.2


def _error(statement: str, _asked: Mapping[str, float]) -> float:
    return 0.5 * bool(_ERROR.search(statement)) + 0.4 * bool(_RAISING.search(statement)) + 0.1


def _effect(statement: str, _asked: Mapping[str, float]) -> float:
    return 1.0 if _STRONG.search(statement) else 0.5 * bool(_OUTCOME.search(statement))


def _pattern(pattern: re.Pattern[str]) -> Callable[[str, Mapping[str, float]], float]:
    return lambda statement, _asked: 1.0 if pattern.search(statement) else 0.1


_FITS: Mapping[str, Callable[[str, Mapping[str, float]], float]] = {
    "number": _number,
    "version": _version,
    "date": _date,
    "default": _default,
    "name": _name,
    "why": _pattern(_REASON),
    "how": _pattern(_MEANS),
    "definition": _pattern(_DEFINING),
    "choice": _pattern(_POLAR),
    "doubt": _pattern(_DOUBT),
    "effect": _effect,
    "error": _error,
}


def defines(statement: str) -> bool:
    """Tell whether a statement says what something is."""
    return _DEFINING.search(statement) is not None


def doubts(statement: str) -> bool:
    """Tell whether a statement speaks of a limit, a failure, a risk or a warning."""
    return _DOUBT.search(statement) is not None


def is_wide(question: str) -> bool:
    """Tell whether ``question`` asks for more than one figure, name or yes: many statements answer it together."""
    return not _EXACT.intersection(kinds(question))


@lru_cache(maxsize=8192)
def is_telling(statement: str) -> bool:
    """Tell whether a statement advises, warns or defines."""
    return _ADVICE.search(statement) is not None or defines(statement) or doubts(statement)


def sends_elsewhere(statement: str) -> bool:
    """Tell whether a statement only says where something is told, or what is told next."""
    return _ELSEWHERE.search(statement) is not None
