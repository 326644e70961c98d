"""What a sentence must hold to answer each kind of question: a sum of money, a date, a person, a number of the things asked for.

One table. The words of a question may all be in a passage that does not answer it; a value of its kind is hardly there by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from pipeline.text.ranking.answers.sentence_kinds import REASON

_DIGITS = (  # no version, no section of a manual, no year, no part of a name
    r"(?<![\w.~/-])(?<!\w\()(?<!ersion )(?<!elease )(?<!inux )(?<!ection )(?<!able )"
    r"(?!(?:1[5-9]|20)\d\d\b(?!,))(?!\d{1,4}\.\d{1,4}\.\d)\d[\d.,]{0,40}[KMG]?"
)
_NUMBER = (
    rf"(?:{_DIGITS}"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundreds?"
    r"|thousands?|millions?|half|zero|none|unlimited|infinite"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|vierzig|hundert|tausend|millionen)\b)"
)
_TIME = (
    r"(?:(?:nano|micro|milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|jiff(?:y|ies)|ms|min|centur(?:y|ies)"
    r"|winters?|sommer|summers?|sekunden?|minuten?|stunden?|tage?n?|wochen?|monate?n?|jahre?n?|s|h)\b"
)
_BYTES = r"(?:[kmgtp]i?b|[kmg]|(?:kilo|mega|giga|tera)?(?:bytes?|bits?)|[km]bytes?)\b"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember)\b"
)
_YEAR = r"\b(?:1[0-9]|20)\d\d\b|\b(?:mid-|early |late )?(?:1[0-9]|20)?\d0s\b"
_RELEASE = r"\bv?\d+\.\d+|\b(?:version|release|linux|kernel) \d"
_COMPARED = r"faster|slower|quicker|smaller|larger|bigger|better|worse|heavier|lighter|longer|shorter|cheaper|higher|lower"
_LARGEST = r"largest|biggest|longest|highest|maximum|max|maximal|smallest|shortest|lowest|minimum|minimal|min"
_MAKING = r"wrote|written|authored|created|designed|developed|implemented|invented|built|made|programmed|drew|painted"
_DUTY = r"maintains?|owns?|leads?|led|chairs?|manages?|directs?|sponsors?|sponsored|finance[sd]?|funds?|funded|employs?"
_EVENT = (
    r"\w{3,}ed|written|built|made|begun|held|born|sold|bought|found|given|drawn|sent|lost|won|set up|shut down"
    r"|took|became|left|led|ran|kept|taught|paid|chose|brought|came|went"
    r"|ge\w{2,}(?:t|en)|\w+ge\w{2,}(?:t|en)|(?:be|er|ver|ent|zer)\w{3,}(?:t|en)"
)
_FULL_NAME = r"(?-i:\b[A-Z][a-zé]+ (?:[A-Z]\. |van |von |de |der |la ){0,2}[A-Z][a-zé]+)"
_BY = r"(?-i:\b(?:[Bb]y|vo[nm]) (?:the )?(?:\w+ ){0,3}[A-Z])"
_PERSON = rf"{_BY}|{_FULL_NAME}|©"
_MAKERS = r"(?:authors?|creators?|founders?|inventors?)"
_MAKER = (
    rf"\b(?:{_MAKING}|founded|work|effort|articles?|books?|texts?|manual|guide)\b.{{0,40}}"
    rf"\b(?:by|of) (?:the )?(?:\w+ ){{0,3}}(?-i:[A-Z])"
    rf"|{_FULL_NAME}.{{0,40}}\b(?:{_MAKING}|founded|{_MAKERS})\b|\b{_MAKERS}\b.{{0,60}}{_FULL_NAME}|©"
)
_ROLE = (  # who may do something besides a person by name
    r"\b(?:inc|corp|ltd|foundation|compan\w+|universit\w+|institutes?|teams?|projects?|committees?|groups?|developers?"
    r"|maintainers?|authors?|administrators?|owners?|users?|root|kernel|process(?:es)?|programs?|members?)\b"
)
_ATTRIBUTE = r"colou?rs?|brands?|breeds?|shapes?|farben?|marken?|form|vendors?|manufacturers?|hersteller"
_GERMAN_DEED = r"ge\w{2,}(?:t|en)|\w+ge\w{2,}(?:t|en)|(?:be|er|ver|ent|zer)\w{3,}(?:t|en)"
_HOW = r"(?:^|[.,;:?!] (?:and |but )?|^\w+ )"  # before a "how" that asks: not in "if I do not say how many"


class Demand(NamedTuple):
    """A kind of question and what a sentence that answers it holds.

    ``asked`` finds the question; its group ``what`` is a word that the sentence must hold as well, in any form or as another of
    its family. ``value`` finds the value. ``counts``: the value must stand close to the word.
    """

    asked: re.Pattern[str]
    value: re.Pattern[str]
    counts: bool = False


def _demand(asked: str, value: str, *, counts: bool = False) -> Demand:
    return Demand(re.compile(asked.replace("{H}", _HOW), re.IGNORECASE), re.compile(value, re.IGNORECASE), counts)


_DEMANDS = (  # the first one that finds the question counts
    _demand(  # what something costs
        r"\bhow much (?:money\b|(?:a \w+ )?(?:do|does|did|is|are|was|were|must|has|have|would)\b.{1,80}"
        r"\b(?:costs?|paid|pay|earn|charge)\b)"
        r"|^what (?:do|does|did|would|is|are) .{1,80} costs?\b|\b(?:salary|wages?|fine|price|fee)\b"
        r"|\bwas kostete?n?\b|\bwie ?viel\b.{0,60}\b(?:geld|koste\w*|verdien\w+|zahl\w+|bezahl\w+)\b|\bwie teuer\b",
        r"[$€£¥]|\b(?:USD|EUR|dollars?|euros?|cents?|francs?|gulden|free of charge|for free|unpaid|expensive|cheap|gratis"
        r"|kostenlos|umsonst)\b|\bcosts?\b.{0,40}\d",
    ),
    _demand(  # how much more
        rf"{{H}}how (?:much|many times) (?:(?P<what>{_COMPARED})|more|less)\b",
        rf"{_NUMBER}[ -]?(?:%|x\b|×|times|fold|percent|{_TIME}|{_BYTES})|\b(?:twice|half|double|factor|orders? of magnitude)\b",
    ),
    _demand(  # how much memory
        r"{H}how much (?:\w+ )?(?P<what>memory|ram|space|disk|storage|data)\b",
        rf"{_NUMBER}[ -]?(?:{_BYTES}|%|percent|pages?|times)",
    ),
    _demand(
        r"{H}how (?:many times|often)\b|^wie oft\b",
        rf"{_NUMBER}|\b(?:each|every|annually|yearly|monthly|weekly|daily|hourly|once|twice|per|jede[nrsm]?|alle|einmal|zweimal)\b",
    ),
    _demand(  # a number of things
        r"{H}how many (?:(?!of\b)[\w'’-]+ ){0,3}?(?P<what>[\w-]+s|people|children|men|women|data)\b|\bwie ?viele? (?P<was>\w+)",
        _NUMBER,
        counts=True,
    ),
    _demand(rf"^(?:what|which)\b.{{1,12}}\b(?:{_LARGEST}) (?P<what>file)\b(?! name)", rf"{_NUMBER}[ -]?{_BYTES}"),
    _demand(
        rf"^(?:what|which)\b.{{1,12}}\b(?:{_LARGEST}) (?:\w+ )?(?P<what>size|length)\b",
        rf"\b(?:{_LARGEST}|limit\w*|up to|at most|at least|(?:no|not) \w+ than|exceed|cannot)\b.{{0,60}}?{_NUMBER}",
    ),
    _demand(  # how long
        r"{H}how (?:long|quickly|soon) (?:do|does|did|will|would|has|have|must|should|before|until|after)\b"
        r"|^wie (?:lange|schnell)\b",
        rf"{_NUMBER}[ -]?(?:\w+ )?{_TIME}|\b{_TIME}.{{0,60}}{_NUMBER}"
        r"|\b(?:immediately|forever|until|never|bis|half an|an hour|a (?:day|week|month|year))\b",
    ),
    _demand(r"{H}how (?P<what>deep|wide|tall|heavy|high|thick|big|large)\b", _NUMBER),
    _demand(r"^wie (?P<was>tief|hoch|lang|breit|schwer|groß|dick|alt|weit)\b", _NUMBER),
    _demand(  # a measure by its name
        r"^what (?:is|was|are|were) the (?:\w+ ){0,2}?(?P<what>speed|weight|height|length|width|depth|area|population|distance"
        r"|diameter|temperature)\b",
        _NUMBER,
    ),
    _demand(  # an age
        r"{H}how old\b",
        rf"\b(?:aged?|born|birth|birthday)\b|{_NUMBER}[ -](?:years?|months?|weeks?|days?)[ -](?:old|of age)\b"
        rf"|\b(?:at|was|were|is|are|turned|only) {_NUMBER}(?= when\b| years\b|[,.;]|$)",
    ),
    _demand(r"{H}how fast\b", rf"{_NUMBER}|\b(?:times|faster|slower|fast|slow|slowly)\b"),
    _demand(  # when something happened for the first time
        rf"^(?:when|(?:in )?(?:which|what) year) (?:was|were)\b.*\bfirst\b.*\b(?P<what>{_EVENT})\b",
        rf"\A(?=.*\b(?:first|initial\w*|original\w*|1\.0|earliest|introduced)\b).*(?:{_YEAR})",
    ),
    _demand(rf"^(?:in )?(?:(?:which|what) year (?:was|were)|welchem jahr wurden?)\b.*\b(?P<what>{_EVENT})\b", _YEAR),
    _demand(  # when something happened
        rf"^(?:when (?:was|were)|wann (?:wurden?|war(?:en)?))\b.*\b(?P<what>{_EVENT})\b",
        rf"{_YEAR}|{_MONTH} \d|\b\d{{1,2}}\.? {_MONTH}|{_RELEASE}",
    ),
    _demand(r"^(?:when did|(?:in )?(?:which|what) year|in welchem jahr)\b", _YEAR),
    _demand(rf"^who (?P<what>{_MAKING}|founded)\b", _MAKER),
    _demand(rf"^who (?:(?:is|was) (?:the )?(?:\w+ )?)?(?P<what>{_DUTY}|maintainer|chair|leader|author|owner|founder)\b", _PERSON),
    _demand(
        rf"^(?:which|what) (?:compan\w+|firm|universit\w+|organi[sz]ation|person|developer)s? (?P<what>{_MAKING}|{_DUTY})\b",
        r"\b(?:inc|corp|ltd|gmbh|compan\w+|universit\w+|foundation|organi[sz]ation)\b",
    ),
    _demand(r"\b(?:which|what) (?P<what>courts?)\b", ""),
    _demand(  # a place
        r"\b(?:which|what) (?:city|town|village|country|countries|street)\b|^in welche[rnm] (?:stadt|land|ort|straße)\b",
        r"(?-i:\b(?:[Ii]n|[Aa]t|[Nn]ear|[Ff]rom|[Tt]o|[Nn]ach|[Aa]us|[Bb]ei) |, )(?-i:[A-ZÄÖÜ][a-zäöü]+)"
        r"|\b(?:city|town|village|country|street|stadt|land|ort|dorf)\b",
    ),
    _demand(rf"^(?:which|what|welche[rsnm]?) (?P<what>{_ATTRIBUTE})\b", ""),
    _demand(
        r"^(?:what|which) (?:is|are|was) .{0,40}\bdefault (?:(?:values?|settings?)\b|(?P<what>\w+))",
        r"\bdefault|\binitial|\bunless\b",
    ),
    _demand(
        r"^where (?:can|do|could|should) (?:I|one|we|you|they) (?:download|obtain|buy|order)\b",
        r"https?:|ftp|www\.|\w\.(?:com|org|net|io|dev|edu|gov)\b|@"
        r"|\b(?:web ?sites?|sites?|mirrors?|archives?|servers?|repositor\w+|shops?)\b",
    ),
    _demand(  # who holds an office
        r"^who (?:is|are|was|were) the (?:(?!of\b|in\b)[\w-]+ ){0,3}?"
        r"(?!(?:man|men|woman|women|persons?|people|ones?|first|last)\b)(?P<what>[\w-]+) (?:of|at|for)\b",
        _PERSON,
    ),
    _demand(r"^who (?:is|are|was|were) (?:the |\w+'s )?(?!\w+ed\b)", rf"{_PERSON}|{_ROLE}"),
    _demand(  # the name of a thing
        r"^what (?:is|are|was|were) (?:the )?(?:\w+ )?names? of (?:[^?]*['’]s? |the |a |an |its |their )?(?P<what>[\w-]+)",
        r"(?-i:(?<![.!?:] )(?<!^)\b[A-Z]\w+)|[»„“\"`]|\b(?:named|called|names?)\b",
    ),
    _demand(rf"^who (?:(?:has|had|have|was|were|is|are) )?(?P<what>{_EVENT})\b", rf"{_PERSON}|{_ROLE}"),
    _demand(rf"^wer (?:hat|haben|hatte|wurde|ist|war)\b.*\b(?P<what>{_GERMAN_DEED})\W*$", ""),
    _demand(r"^wer (?P<was>leitet\w*|führt\w*|baute|gründete|schrieb|entwarf|bezahlt\w*|finanziert\w*|entdeckte|erfand)\b", ""),
    _demand(
        r"^wie (?:hei(?:ß|ss)(?:t|en|e)|hie(?:ß|ss)(?:en)?) (?:\w+ )?(?P<was>(?-i:[A-ZÄÖÜ])\w+)",
        r"\b(?:hei(?:ß|ss)\w*|hie(?:ß|ss)\w*|[bg]?e?nann?t\w*|nenn\w+|namens|namen?|taufte?\w*|getauft)\b|[»„“\"]"
        r"|(?-i:(?<![.!?:] )\b(?!D(?:er|ie|as|en|em|es)\b|Ein\w*\b|I[mn]\b|A[mn]\b|Vo[nm]\b)[A-ZÄÖÜ][a-zäöüß]+"
        r" [A-ZÄÖÜ][a-zäöüß]+)",
        counts=True,
    ),
    _demand(
        r"^why (?:is|was|are|were) (?:the )?(?P<what>\w+)\b.{0,60} (?:called|named)\b"
        r"|^warum hei(?:ß|ss)t (?:der |die |das )?(?P<was>\w+)",
        r"\b(?:named (?:after|for|because|so)|(?:is|are|was|were) named|stands? for|short for|abbreviat\w+|acronym|the name"
        r"|its name|so called|called .{1,40} because|name .{1,40} comes|hei(?:ß|ss)(?:t|en)|der name|benannt)\b",
        counts=True,
    ),
    _demand(r"^(?:why|warum|wieso|weshalb)\b", REASON.pattern),
    _demand(r"^wodurch\b", rf"{REASON.pattern}|\b(?:durch|ausgelöst|verursacht)\b"),
    _demand(  # where something was or happened
        r"^where (?:did|was|were)\b|^wo (?:wurden?|war(?:en)?)\b",
        r"\b(?:in|at|near|from|to|on|by|behind|beside|under|above|below|off|im|am|an|bei|auf|nach|aus|vor|hinter|unter|über)\b",
    ),
)
_FAMILIES = tuple(
    re.compile(rf"(?:{family})\Z", re.IGNORECASE)
    for family in (
        rf"{_MAKING}|writing|authors?|creators?|developers?|inventors?|designers?|designs?|copyright|origin\w*|entworfen|entwarf"
        r"|schrieb|baute|erbaut\w*",
        r"founded|founders?|founding|establish\w*|created|started|began|begun|set|formed|gegründet|gründete|entstand\w*",
        r"built|gebaut|erbaut\w*|entstand\w*|baute",
        r"released?|releas\w+|publish\w+|appear\w*|introduc\w+|announc\w+|available|issued",
        r"added|introduc\w+|since|available|appear\w*|new",
        r"maintain\w*|owns?|owner\w*|authors?|leader|chair|chairs|chairman|chairperson|contact",
        r"faster|slower|quicker|fast|slow\w*|quick\w*|speed\w*",
        r"smaller|larger|bigger|small|larg\w*|big|ratio|size\w*|bytes?|groß\w*|größe\w*",
        r"memory|ram|space|disk|storage",
        r"people|persons?|users?|men|women|members",
        r"deep\w*|depth\w*", r"wide\w*|width\w*|broad", r"tall|height\w*|high", r"thick\w*|dick\w*",
        r"heavy|weigh\w*|kg|kilograms?",
        r"tief\w*", r"hoch|hohe\w*|höhe\w*", r"lang\w*|länge\w*", r"breit\w*", r"schwer|wieg\w*|gewicht\w*",
        r"alt|alter|jahre?n?",
        r"weit\w*|entfern\w*|kilometern?", r"colou?r\w*|red|green|blue|yellow|white|black|gr[ae]y|brown|orange|purple",
        r"farb\w*|rot\w*|grün\w*|blau\w*|gelb\w*|weiß\w*|schwarz\w*|grau\w*|braun\w*", r"mark\w*|hersteller|firma",
        r"brands?|make|makers?|vendors?|manufactur\w+", r"leit\w+|geleitet|führ\w+|geführt|vorsitz\w*|vorstand\w*|chef\w*",
        r"bezahl\w*|zahl\w*|gezahlt|finanzier\w*|stifte\w*|gestiftet|spende\w*|trug|getragen|übern[oa]m\w*|kosten",
        r"succe\w+|replac\w+|follow\w*|took|taken|takes?",
        r"speed\w*|knots?|mph|fast\w*|kilomet\w+|miles?", r"area|acres?|hectares?|square",
        r"population|inhabitants|residents|people",
        r"diameter|across|wide", r"temperature|degrees?|°C",
        r"begin\w*|began|begun|start\w*",
        r"buil[dt]\w*", r"buy\w*|bought", r"sell\w*|sold", r"hold\w*|held", r"g[ai]ve\w*", r"t[ao]ke\w*|took",
        r"bec[ao]m\w*", r"cho[o]?s\w*|selected", r"w[io]n\w*", r"pa(?:y\w*|id)", r"le(?:av\w*|ft)", r"sen[dt]\w*",
        r"grow\w*|grew",
    )
)  # fmt: skip
_ASKING = re.compile(
    r"years?|dates?|versions?|jahre?|many|much|long|often|wie|number|times|costs?|pay|paid|money|price|kosten|kostet|geld"
    r"|city|town|village|country|countries|street|stadt|land|ort|straße",
    re.IGNORECASE,
)


@lru_cache(maxsize=512)
def demand_of(question: str) -> tuple[Demand, str] | None:
    """Return what an answer to ``question`` must hold and the word that must be beside it, "" for none; None if it is open."""
    for demand in _DEMANDS:
        if found := demand.asked.search(question.strip()):
            named = [word for word in found.groupdict().values() if word]
            return demand, named[0] if named else ""
    return None


def is_of_family(word: str, others: Iterable[str]) -> bool:
    """Return whether one of ``others`` is of a family with ``word``: it says nearly the same."""
    families = [family for family in _FAMILIES if family.match(word)]
    return any(family.match(other) for other in others for family in families)


def only_asks(word: str) -> bool:
    """Return whether a word says what kind of value is asked for ("year"), which a sentence with the value need not hold."""
    return _ASKING.fullmatch(word) is not None
