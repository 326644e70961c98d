"""Answer types (duration, count, date, reason …): which ones a question asks for, and whether a passage contains them.

Each type has two regular expressions, one for the question and one for the passage.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class _Kind(NamedTuple):
    name: str
    question: re.Pattern[str]
    passage: re.Pattern[str]


def _kind(name: str, question: str, passage: str) -> _Kind:
    return _Kind(name, re.compile(question, re.IGNORECASE), re.compile(passage, re.IGNORECASE))


# No section of a manual ("read(2)") and no version of three parts; bounded, so that a long line of figures takes linear time.
_NUMBER = r"(?<![\w.])(?<!\w\()(?!\d{1,4}\.\d{1,4}\.\d)\d[\d,.]{0,40}"
_NUMBER_WORD = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|sixty"
    r"|hundred|thousand|million|once|twice|half|zero|unlimited|infinite)\b"
)
_UNIT = (
    r"(?:milliseconds?|microseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|ms|s|min|h"
    r"|sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?)\b"
)
_MONTH = r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
_GERMAN_MONTH = r"(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b"
_KINDS = (
    _kind(
        "duration",
        r"\bhow (?:long|often|frequently|soon|quickly)\b"
        r"|\b(?:time-?out|interval|delay|duration|period|lifetime|expir\w+|wait)\b.*\?"
        r"|\bafter how\b|^(?:nach )?wie (?:lange|oft|schnell)\b",
        rf"(?:{_NUMBER}|{_NUMBER_WORD})[ -]?{_UNIT}"
        rf"|\b{_UNIT}[^.\n]{{0,60}}{_NUMBER}"  # "in seconds, the default is 5"
        r"|\b(?:hourly|daily|weekly|monthly|never expires?|immediately|forever|until|bis zu[mr]?)\b",
    ),
    _kind(
        "count",
        r"\bhow (?:many|much|large|big|small|high|deep|far|wide|tall|heavy|old)\b"
        r"|\bwie ?(?:viele?n?|hoch|gro(?:ß|ss)|tief|weit|breit|alt|schwer|teuer)\b"
        r"|\b(?:what|which)\b(?:['’]s)?(?: \w+){0,4} (?:size|limit|maximum|minimum|max|min|number|count|port|percentage"
        r"|share|rate|length|capacity|range|precision|code|cost|price|dose|temperature|value)\b"
        r"|\bwhat (?:do|does|did|would) .{1,60} cost\b|\b(?:maximum|minimum|max|min)\b|\bat (?:most|least)\b"
        r"|\b(?:longest|shortest|largest|biggest|smallest|highest|lowest|deepest|fewest|what(?:['’]s| is| are) the most)\b"
        r"|\bin (?:kilo|mega|giga)?(?:bytes|bits)\b",
        rf"{_NUMBER}|{_NUMBER_WORD}",
    ),
    _kind(
        "default",
        r"\bdefaults?\b|\bby default\b|\bunless\b"
        r"|\bif (?:i|you|we|it|they|nobody|no one|nothing)\b[^,?]{0,40}(?:n['’]?t|not|nothing|no)\b"
        r"|\bif (?:none|nothing|no \w+) (?:is|was|are)\b|\bwithout (?:saying|telling|setting|giving|asking)\b"
        r"|\bout of the box\b|\bnormally\b|\bomit\w*",
        r"\bdefaults?\b|\bif (?:omitted|unset|not (?:given|specified|set|provided))|\botherwise\b|\bunless\b|\bnormally\b",
    ),
    _kind(
        "date",
        r"^when (?:was|were|did|has|had)\b"
        r"|^when (?:is|are|will) .{1,60}\b(?:due|released?|held|published|expected|planned|open(?:ed)?)\b"
        r"|\b(?:which|what) (?:year|date|month|day|century)\b|\bhow old\b|\bsince when\b"
        r"|^(?:seit |bis |ab )?wann\b|\bin welchem (?:jahr|monat|jahrhundert)\b",
        r"\b(?:1[5-9]|20)\d\d\b"
        rf"|{_MONTH} \d"
        r"|\b\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
        rf"|\b\d{{1,2}}\. {_GERMAN_MONTH}",
    ),
    _kind(
        "version",
        r"\b(?:which|what|since (?:which|what)|in (?:which|what)|from (?:which|what)) (?:\w+ ){0,2}(?:version|release)s?\b"
        r"|\bsince when\b|\b(?:the|latest|newest|current|what) version (?:number )?(?:of|is)\b"
        r"|\bwhen was .* (?:added|introduced|removed|dropped|deprecated)",
        r"(?<![\w.])v?\d+\.\d+(?:\.\d+)*\b|\b(?:version|release) \d+",
    ),
    _kind(
        "name",
        r"\b(?:which|what)\b(?: \w+){0,3} "
        r"(?:function|method|module|class|exception|error|attribute|argument|parameter|option|flag|switch|variable|command"
        r"|signal|file|directory|folder|path|key|keyword|statement|tool|program|package|utility|setting|directive|field"
        r"|column|view|table|operator|type|format|protocol|algorithm|extension|script|service|unit)s?\b"
        r"|^who\b|\bname of\b|\bcalled\b",
        r"\b\w+\(\)"  # call()
        r"|\b\w+(?:[._]\w+)+"  # a.dotted_name
        r"|(?<![\w-])--?[A-Za-z][\w-]*"  # --option
        r"|(?<!\w)/(?:[\w.-]+/?)+"  # /a/path
        r"|(?-i:\b[A-Z]\w*[a-z][A-Z]\w*)"  # CamelCase
        r"|(?-i:\b[A-Z]{2,}\w*\b|[A-Z]\w+=)",  # SIGTERM, Setting=
    ),
    _kind(
        "reason",
        r"^why\b|\bwhy (?:is|are|does|do|did|should|would|was|can)\b"
        r"|\b(?:reason|purpose|cause|rationale|point) (?:of|for|to|why|behind)\b"
        r"|\bwhat (?:is|are) .{1,60} for\?|\bwhat(?:['’]s| is) (?:wrong|the (?:matter|problem|trouble|catch))\b"
        r"|\b(?:warum|weshalb|wieso|wozu)\b",
        r"\b(?:because|since|so that|therefore|due to|reasons?|in order to"
        r"|to (?:avoid|prevent|ensure|protect|allow|make|reduce)|otherwise|thus|hence|as a result"
        r"|which (?:means|is why)|prevents?|avoids?|ensures?|intended|would|purpose"
        r"|weil|denn|damit|deshalb|daher|deswegen|nämlich|aufgrund|um [^.]{1,60} zu)\b",
    ),
    _kind(
        "permission",
        r"^(?:is|are|does|do|did|can|could|should|will|would|must|has|have|were|may|am"
        r"|was(?= (?:an?|the|this|that|these|those|there|it|he|she|they|we|you|any|my|our|your|(?-i:[A-Z])\w+ \w+ed)\b))\b"
        r"|\bwhether\b"
        r"|\b(?:allowed|permitted|possible|safe|okay|ok|legal|required|mandatory|able) to\b",
        r"\b(?:not|never|no|only|always|must|cannot|can|may|does|guaranteed|safe|unsafe|possible|impossible|allowed"
        r"|forbidden|required|optional|supported|unsupported|should|recommended|yes|automatically|necessary|permitted)\b"
        r"|n't\b",
    ),
    _kind(
        "how-to",
        r"^how (?:do|does|can|could|should|would|might|to|may)\b"
        r"|\bhow (?:do|can|should|would|to)\b"
        r"|\b(?:way|ways|means|steps) (?:to|of)\b",
        r"\b(?:by \w+ing|use|using|run|set(?:ting)?|call|type|add|edit|install|enable|create|specify|pass|with the|must"
        r"|should|first|then|to \w+ [^.]{0,60},)\b"
        r"|```|(?<![\w-])--?[A-Za-z]",
    ),
    _kind(
        "definition",
        r"^(?:what|who) (?:is|are|was|were) (?!wrong\b|the (?:matter|problem|trouble|catch)\b|the \w+est\b|the most\b)"
        r"(?:an? |the )?[\w .'-]{1,40}\?*$"
        r"|\bwhat does .{1,40} (?:mean|stand for)\b|^define\b|\bmeaning of\b"
        r"|^(?:was|wer) (?:ist|sind|war|waren) (?:eine? |der |die |das )?[\w .'-]{1,40}\?*$|\bwas bedeutet\b",
        r"\b(?:is|are|was|were) (?:an?|the|one|any|that|used|defined|called|known)\b"
        r"|\b(?:means|refers? to|denotes?|describes?|represents?|stands? for|consists? of)\b"
        r"|\b(?:ist|sind|war|waren) (?:eine?|der|die|das)\b|\b(?:bezeichnet|bedeutet|besteht aus)\b",
    ),
    _kind(
        "effect",
        r"\bwhat happens\b"
        r"|\bwhat (?:does|do|did|will|would)\b.{1,80}\b(?:do|return|raise|mean|cause|show|print|happen)\b"
        r"|\beffects? of\b",
        r"\b(?:returns?|raises?|raised|results?|causes?|will|becomes?|discards?|ignored?|instead|if|when|fails?|blocks?"
        r"|means?|prints?|shows?|sends?|exits?)\b",
    ),
)
_PASSAGE_PATTERNS = {kind.name: kind.passage for kind in _KINDS}


@lru_cache(maxsize=1_024)
def answer_kinds(question: str) -> tuple[str, ...]:
    """Return the names of the answer types that ``question`` asks for, in a fixed order; empty if none is recognised."""
    plain = question.strip()
    return tuple(kind.name for kind in _KINDS if kind.question.search(plain))


def kind_match(kinds: tuple[str, ...], passage: str) -> float:
    """Return the share, 0 to 1, of ``kinds`` that ``passage`` contains; 0 without kinds."""
    return sum(_PASSAGE_PATTERNS[name].search(passage) is not None for name in kinds) / len(kinds) if kinds else 0.0
