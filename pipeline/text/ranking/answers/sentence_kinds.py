"""Whether a sentence holds the kind of answer that a question asks for. Pure.

Stricter than ``answer_types``, which judges whole passages: a figure must not be the question's own, a definition must be of the
word that is asked about, a reason must be given.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pipeline.text.ranking.answer_types import kind_match
from pipeline.text.ranking.comparisons import is_comparison
from pipeline.text.ranking.query_terms import ParsedQuestion, parse_question
from pipeline.text.stemming import stems

# How sure a kind of answer shows in a sentence, where it is not 1.
_SURE = {"duration": 1.5, "count": 1.5, "date": 1.5, "version": 1.5, "definition": 1.5} | dict.fromkeys(
    ("permission", "effect", "name"), 0.7
)
_FIGURES = frozenset({"duration", "count", "date", "version"})
_FIGURE = re.compile(r"(?<![\w.])\d[\d.,]*\d|(?<![\w.])\d")
_WHAT_IS = re.compile(
    r"(?:what|who) (?:is|are|was|were) (?:an? |the )?(?P<a>[^?,;]{1,60})\??\Z"
    r"|what does (?P<b>.{1,40}) (?:mean|stand for)\b|what do people mean by (?P<c>[^?,;]{1,60})"
    r"|(?:was|wer) (?:ist|sind|war|waren) (?:eine? |der |die |das )?(?P<d>[^?,;]{1,60})\??\Z|was bedeutet (?P<e>[^?,;]{1,60})",
    re.IGNORECASE,
)
_ABOUT_OTHERS = re.compile(
    r"\b(?:difference|unterschied|reason|purpose|default|best|point|name|matter|wrong|chance)", re.IGNORECASE
)
_DEFINES = re.compile(
    r"\b(?:is|are|was|were|means?|refers? to|denotes?|stands? for|consists? of|describes?|provides?|allows?"
    r"|ist|sind|war|waren|bezeichnet|bedeutet|besteht aus|heißt|nennt|bildet|gehört)\b",
    re.IGNORECASE,
)
_NAMES_IT = re.compile(
    r"\b(?:called|known as|referred to as|termed|named|so-called|heißen|heißt|nennt man|genannt)\b", re.IGNORECASE
)
_NAME_WITHIN = 60  # characters behind "is called" within which the name must follow
_LONGEST_SUBJECT = 6  # words before the verb of a definition
REASON = re.compile(
    r"\b(?:because|since|so that|therefore|due to|reasons?|in order to|as a result|hence|thus|otherwise|which means"
    r"|to (?:avoid|prevent|ensure|protect|allow|make|reduce|keep|recover|guard|stop|help|speed)"
    r"|(?:prevents?|avoids?|ensures?|protects?|causes?|caused by|leads? to|is why|means that|the (?:goal|purpose|aim|point))"
    r"|weil|denn|damit|deshalb|daher|deswegen|nämlich|aufgrund|wegen|durch|infolge|nachdem|um [^.]{1,60} zu"
    r"|gr(?:und|ünde) (?:dafür|war(?:en)?|ist|sind)|nicht länger|nicht mehr)\b",
    re.IGNORECASE,
)
_HOW_TO = re.compile(
    r"(?<![\w-])--?[A-Za-z][\w-]+|\b\w+\((?:\d?\)|\w)|\b[a-z]+_[a-z_]+\b|\b[A-Z]\w+=|`[^`]+`|\b[A-Z]{2,}_[A-Z_]+\b|(?<!\w)/(?:[\w.-]+/)+"
    r"|\A(?:to \w+|use|run|set|call|type|add|edit|install|enable|create|specify|pass|first|put|make|write|choose|select|open)\b"
    r"|\b(?:by (?:\w+ly )?\w+ing|using|with the \S+ (?:option|command|flag|function|module|tool)|you (?:can|should|must|need|may)"
    r"|(?:can|should|must) be \w+ed (?:by|with|using|to|from)|it is (?:recommended|possible|necessary))\b",
    re.IGNORECASE,
)
_HOW_GERMAN = re.compile(
    r"\b(?:wird|werden|wurde[n]?|indem|mit|mittels|durch|zuerst|dann|muss|müssen|danach|über)\b", re.IGNORECASE
)
_GERMAN_HOW = re.compile(
    r"(?:^|\bund )(?:was (?:tut|tun|unternimmt|unternehmen|macht|machen|hilft|muss|müssen|soll|sollte)\b"
    r"|wie (?!viel|hoch|gro|tief|weit|breit|alt|schwer|teuer|lange|oft|schnell|hei(?:ß|ss)|bitte))",
    re.IGNORECASE,
)
_WHEN = re.compile(r"(?:^|\b(?:and|und) )(?:when|wann)\b", re.IGNORECASE)
_WHILE = re.compile(
    r"\b(?:if|when(?:ever)?|once|as soon as|as long as|while|until|unless|before|after|in (?:the )?cases?|for (?:\w+ )?situations"
    r"|wenn|falls|sobald|solange|bei|unter|über|ab|bis|jede[nrsm]?|täglich)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?:^|\b(?:and|und) )(?:where\b|wo(?:her|hin)?\b|from where)", re.IGNORECASE)
_PLACE = re.compile(
    r"\b(?:in|at|from|under|below|inside|near|on|aus|bei|nach|von|am|im|auf|unter|zwischen) (?:the |dem |der |den |das )?"
    r"(?:[\"'`/~]|[A-ZÄÖÜ]\w)"
)
_COMPARES = re.compile(
    r"\b(?:than|unlike|whereas|while|except|instead|both|differs?|different|difference|same|similar|contrast|compared|versus"
    r"|stricter|weaker|stronger|only|but|als|anders|während|hingegen|dagegen|unterschied\w*|sowohl|beide)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"(?:prior to|before|in|until|up to|starting with|as of|since) (?:the )?(?:\w+ )?(?:version|release|\w+) v?\d[\d.]*\b"
    r"|in (?:older|earlier|previous|former|early) |.{0,20}\b(?:formerly|originally|in the past|used to)\b|früher\b",
    re.IGNORECASE,
)
# In a present question's text, a sentence of the past: a year or a word for it, and a verb of the past.
_OF_THE_PAST = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b(?:originally?|formerly|initially|at that time|back then|older|earlier)\b"
    r"|\b(?:bis dahin|damals|früher|einst|vorher|zuvor|ursprünglich|anfangs)\b",
    re.IGNORECASE,
)
_PAST_VERB = re.compile(
    r"\b(?:was|were|had|did|could|wurden?|war(?:en)?|hatten?|konnten?|mussten?|gab(?:en)?|ging(?:en)?|kam(?:en)?|stand(?:en)?"
    r"|ließ(?:en)?|fuhr(?:en)?|lag(?:en)?|(?-i:[a-zäöüß]{3,}te))\b",
    re.IGNORECASE,
)
# "Worüber stritten …?", "Warum ist er zurückgekehrt?", "How has it grown?"; not "Welche Regeln gelten …?"
_PAST_QUESTION = re.compile(
    r"\bw\w+ (?!gelten|arbeiten|halten|bieten|kosten|leisten|treten|raten|warten)(?-i:[a-zäöüß]{3,}ten)\b"
    r"|\b(?:ist|sind|hat|haben)\b.*(?-i:\b[a-zäöüß]{0,9}ge[a-zäöüß]{2,}(?:t|en))\W*\Z"
    r"|\b(?:has|have) (?:\w+ ){1,5}\w+(?:ed|wn|en)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|never|without|nicht|nie|ohne|kein\w*)(?: (?P<word>[\w-]+)|\b)", re.IGNORECASE)
_WAS = re.compile(r"(?:^|\bund )was\b", re.IGNORECASE)  # German for "what", and no verb of the past
_STILL = re.compile(r"\b(?:since|today|now|nowadays|still|seit(?:dem)?|heute|noch immer|inzwischen)\b", re.IGNORECASE)
_WHO = re.compile(
    r"(?:^|\b(?:and|und) )(?:who|whose|whom|we[rnm]|which (?:firm|company|team|person|organi[sz]ation))\b", re.IGNORECASE
)
_ROLE = re.compile(
    r"\b(?:owners?|owned|operat(?:or|ed)|maintain(?:er|ed)|leaders?|led by|teams?|committees?|authors?|founde(?:r|d)|chair\w*"
    r"|director\w*|responsible|in charge|elected|appointed|gehört|träger\w*|betreiber\w*|betreibt|betrieben von|inhaber\w*"
    r"|eigentümer\w*|vorsitz\w*|leiter\w*|leitet|geleitet|gründer\w*|gegründet von|zuständig|verantwortlich)\b",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(
    r"\b(?:differences?|differ|compared? (?:to|with)|versus|vs\.?|better|rather than|instead of|unterschied\w*|apart from"
    r"|that (?:the )?[\w.-]+ (?:cannot|can['’]t|can not|does not|doesn['’]t)|was [\w.-]+ nicht kann)\b",
    re.IGNORECASE,
)


def holds_answer(query: ParsedQuestion, text: str) -> float:
    """Return how well ``text`` holds the question's answer types: 0 for none, up to 1.5 for a figure or a definition."""
    wanted = _wanted(query)
    weights = [_SURE.get(kind, 1.0) for kind in wanted]
    held = sum(weight * _holds(kind, query, text) for kind, weight in zip(wanted, weights, strict=True))
    return max(weights) * held / sum(weights) if wanted else 0.0


@lru_cache(maxsize=1_024)
def _wanted(query: ParsedQuestion) -> tuple[str, ...]:
    kinds = [kind for kind in query.kinds if kind != "definition"]
    kinds += ["definition"] if focus_of(query) else []
    kinds += ["how-german"] if _GERMAN_HOW.search(query.text) else []
    if _WHEN.search(query.text) and _is_of_the_present(query):  # "Wann steht sie still?" asks for no date
        kinds = [*(kind for kind in kinds if kind != "date"), "condition"]
    kinds += ["place"] if _WHERE.search(query.text) else []
    kinds += ["who"] if _WHO.search(query.text) else []
    kinds += ["comparison"] if _DIFFERENCE.search(query.text) else []
    return tuple(dict.fromkeys(kinds))


@lru_cache(maxsize=1_024)
def focus_of(query: ParsedQuestion) -> tuple[str, ...]:
    """Return the stems of what a definition is asked of, () if none is asked for."""
    found = _WHAT_IS.match(query.text.strip().partition(" (")[0])
    name = next((one for one in found.groups() if one), "") if found else ""
    if not name or _ABOUT_OTHERS.search(name):
        return ()
    own = {term.stem for term in query.terms}
    return tuple(stem for stem in stems(name, query.language) if stem in own)


def _holds(kind: str, query: ParsedQuestion, text: str) -> float:
    if kind in _FIGURES:
        return kind_match((kind,), _without_own_figures(query.text, text))
    if kind == "definition":
        return _defines(focus_of(query), text, query.language)
    if kind == "comparison" and not _names_both(query, text):
        return 0.0
    pattern = {
        "reason": REASON, "how-to": _HOW_TO, "how-german": _HOW_GERMAN, "place": _PLACE, "comparison": _COMPARES, "who": _ROLE,
        "condition": _WHILE,
    }.get(kind)  # fmt: skip
    return float(pattern.search(text) is not None) if pattern else kind_match((kind,), text)


def _names_both(query: ParsedQuestion, text: str) -> bool:
    """Return whether a text names both sides of a comparison; True for a question that compares something else."""
    if not is_comparison(query.text, query.clauses):
        return True
    held = frozenset(stems(text, query.language))
    sides = (parse_question(clause.rpartition(": ")[2], query.language).terms for clause in query.clauses)
    return all(any(term.is_in(held) for term in side) for side in sides)


def is_historical(query: ParsedQuestion, text: str) -> bool:
    """Return whether a text says how it was in earlier times or versions and the question does not ask for that."""
    if not _FIGURES.isdisjoint(query.kinds):
        return False
    return _PAST.match(text) is not None or (_is_of_the_present(query) and _tells_the_past(text))


def denies(query: ParsedQuestion, text: str) -> bool:
    """Return whether a text says "not" directly before a word of a question that does not: "the queue is not full"."""
    if _NOT.search(query.text):
        return False
    own = {term.stem for term in query.terms}
    return any(not own.isdisjoint(stems(found["word"] or "", query.language)) for found in _NOT.finditer(text))


def _is_of_the_present(query: ParsedQuestion) -> bool:
    text = _WAS.sub("", query.text) if query.language == "german" else query.text
    return not any(pattern.search(text) for pattern in (_OF_THE_PAST, _PAST_VERB, _PAST_QUESTION))


def _tells_the_past(text: str) -> bool:
    return all(pattern.search(text) for pattern in (_OF_THE_PAST, _PAST_VERB)) and not _STILL.search(text)


def _without_own_figures(question: str, text: str) -> str:
    own = set(_FIGURE.findall(question))
    return _FIGURE.sub(lambda found: "" if found[0] in own else found[0], text) if own else text


def _defines(focus: tuple[str, ...], text: str, language: str) -> float:
    """Return 1 if the sentence begins with the name and a verb that defines it, or calls something by it."""
    found = _DEFINES.search(text)
    named = _NAMES_IT.search(text)
    before, colon, _ = text.partition(": ")
    subjects = (text[: found.start()] if found else "", before if colon else "")
    places = [one for one in subjects if len(one.split()) <= _LONGEST_SUBJECT]
    places += [text[named.end() : named.end() + _NAME_WITHIN]] if named else []
    return float(any(not set(focus).difference(stems(one, language)) for one in places if one))
