"""What an honest, plain model would answer to each question, from nothing but its prompt. One rule a question, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from tests.standin.prompt import KeyedFact, Prompt, keys_in, sentences
from tests.standin.world import terms

_VIEWS = re.compile(r"\b(\d+) at most, that differ")
_CITES = re.compile(r"\((?:follows from )?E\d[^()]*\)$")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_ANGLES = ("basic-facts", "costs", "practice", "history", "sceptic")
_ASKED = {
    "basic-facts": ("What is the purpose of {}?", "How were {} measured?", "Which losses do {} reduce?", "When were {} tested?"),
    "costs": ("What is the cost of {}?", "How did the cost of {} change?", "Who pays for {}?", "Which costs of {} are hidden?"),
    "practice": ("Where are {} used?", "Which checks do {} need?", "How are {} introduced?", "Which trials of {} were made?"),
    "history": (
        "When was the first use of {}?",
        "Where does the idea of {} come from?",
        "What came before {}?",
        "What changed {}?",
    ),
    "sceptic": ("Which {} failed?", "What is the main limit of {}?", "Which numbers on {} are disputed?", "Who doubts {}?"),
}


def answer(prompt: Prompt) -> Any:
    """Return what the model would say, in the words of the answers' schemas or as a text; {} for a question without a rule."""
    rule = RULES.get(prompt.name)
    return rule(prompt) if rule else {}


def plan(prompt: Prompt) -> dict[str, Any]:
    """As many points of view as asked for, the basic facts first and the sceptic last, each with a search for its questions."""
    asked = _VIEWS.search(prompt.frame)
    count = min(int(asked[1]) if asked else 1, len(_ANGLES))
    each = prompt.limit("questions", 3)
    chosen = _ANGLES[: count - 1] + _ANGLES[-1:] if count > 1 else _ANGLES[:1]
    subject = " ".join(_subject(prompt))
    return {"kind": "overview", "perspectives": [_perspective(angle, subject, each) for angle in chosen]}


def _perspective(angle: str, subject: str, each: int) -> dict[str, Any]:
    name = angle.replace("-", " ").capitalize()
    questions = [question.format(subject) for question in _ASKED[angle][:each]]
    queries = [" ".join(_ordered_terms(question)) for question in questions[:2]]
    return {"name": name, "focus": f"{name} of {subject}", "questions": questions, "queries": queries}


def reading(prompt: Prompt) -> dict[str, Any]:
    """The sentences of the pages that share most words with the questions, verbatim; a search for each that nothing speaks to."""
    told = {sentence: key for key, text in prompt.pages for sentence in sentences(text)}
    liked = sorted((sentence for sentence in told if _likeness(sentence, prompt)), key=lambda one: -_likeness(one, prompt))
    found = [_finding(sentence, told[sentence], prompt) for sentence in liked[: 8 * max(1, len(prompt.pages))]]
    gaps = [question for question in prompt.open_questions if not _spoken_to(question, [one["quote"] for one in found])]
    queries = (" ".join(_ordered_terms(question)) for question in gaps)
    new = [query for query in dict.fromkeys(queries) if query and query not in prompt.items]
    return {"findings": found, "open_questions": [prompt.asked[one] or one for one in gaps], "queries": new[:3]}


def _finding(sentence: str, source: str, prompt: Prompt) -> dict[str, Any]:
    question = max(prompt.open_questions, key=lambda one: _overlap(one, sentence), default="")
    return {"source": source, "quote": sentence, "claim": "", "question": prompt.asked.get(question, "")}


def _likeness(sentence: str, prompt: Prompt) -> int:
    wanted = frozenset[str]().union(*(terms(question) for question in prompt.asked))
    return len(terms(sentence) & wanted)


def report(prompt: Prompt) -> str:
    """One sentence a fact, in the fact's own words, with its key, within the words allowed; the first ones as the summary."""
    left = prompt.limit("words", 1_500)
    lines: list[str] = []
    for fact in prompt.facts:
        left -= len(fact.quote.split())
        if left >= 0 or not lines:
            lines.append(f"{fact.quote.rstrip('.')} [{fact.key}].")
    if not lines:
        return "# Nothing\n\nThe sources say nothing.\n\nnot answered: there is no evidence"
    beginning = f"# On {' '.join(_subject(prompt))}\n\n{' '.join(lines[:3])}\n"
    if "This is the text of a report" in prompt.frame:
        return f"{beginning}\nanswered"
    titles = ("What it is", "What was measured", "What it costs", "Where it ends")
    parts = [(title, lines[at :: len(titles)]) for at, title in enumerate(titles) if lines[at :: len(titles)]]
    outline = "\n".join(f"- {title}" for title, _ in parts)
    body = "\n\n".join(f"## {title}\n\n{' '.join(part)}" for title, part in parts)
    whole = "Write the report that answers" in prompt.frame
    return f"{outline}\n\n{beginning}\n{body}\n\nanswered" if whole else f"{outline}\n\n{body}"


def check(prompt: Prompt) -> dict[str, Any]:
    """A sentence is a fault, and left out, unless half its words are in the quotes that it cites; facts alike with other numbers
    contradict."""
    quotes = {fact.key: fact.quote for fact in prompt.facts}
    faults = [
        {"sentence": key, "reason": "The quotes do not say so.", "text": ""}
        for key, text in prompt.checked
        if not text.endswith("(a heading)") and not _is_supported(text, quotes)
    ]
    return {"faults": faults, "claimless": [], "contradictions": _contradictions(prompt), "outcome": "answered"}


def _is_supported(text: str, quotes: dict[str, str]) -> bool:
    cited = " ".join(quotes.get(name, "") for name in keys_in(text))
    wanted = terms(_CITES.sub("", text))
    return bool(wanted) and 2 * len(wanted & terms(cited)) >= len(wanted)


def _contradictions(prompt: Prompt) -> list[dict[str, Any]]:
    pairs = (pair for pair in combinations(prompt.facts, 2) if pair[0].origin != pair[1].origin)
    return [_clash(*pair) for pair in pairs if _alike(*pair) and _numbers(pair[0]) != _numbers(pair[1])]


def _clash(one: KeyedFact, other: KeyedFact) -> dict[str, Any]:
    subject = " ".join(_ordered_terms(one.quote)[:4])
    why = f"{', '.join(sorted(_numbers(one)))} against {', '.join(sorted(_numbers(other)))}"
    return {"first": one.key, "second": other.key, "subject": subject, "kind": "number", "explanation": why}


def stand_alone(prompt: Prompt) -> dict[str, Any]:
    """The question as it is."""
    return {"question": prompt.query}


def talk(prompt: Prompt) -> dict[str, Any]:
    """The first facts, word for word."""
    return {"answer": " ".join(f"{fact.quote.rstrip('.')} [{fact.key}]." for fact in prompt.facts[:2]), "follow_ups": []}


def episode(prompt: Prompt) -> dict[str, Any]:
    """The first fact, word for word."""
    return {"episode": " ".join(f"{fact.quote.rstrip('.')} [{fact.key}]." for fact in prompt.facts[:1])}


RULES: dict[str, Callable[[Prompt], Any]] = {
    "plan": plan,
    "reading": reading,
    "report": report,
    "check": check,
    "stand_alone": stand_alone,
    "talk": talk,
    "episode": episode,
}


# ---- what the rules share ----------------------------------------------------------------------------------------


def _subject(prompt: Prompt) -> tuple[str, ...]:
    return _ordered_terms(prompt.query)[:4] or ("the", "question")


def _ordered_terms(text: str) -> tuple[str, ...]:
    kept = terms(text)
    words = (word.strip(".,;:!?\"'()").lower() for word in text.split())
    return tuple(dict.fromkeys(word for word in words if word in kept))


def _overlap(question: str, text: str) -> int:
    return len(terms(question) & terms(text))


def _spoken_to(question: str, known: Iterable[str]) -> bool:
    wanted = terms(question)
    return any(2 * len(wanted & terms(text)) >= len(wanted) for text in known)


def _alike(one: KeyedFact, other: KeyedFact) -> bool:
    first, second = (terms(_DIGITS.sub("", fact.quote)) for fact in (one, other))
    return 5 * len(first & second) >= 4 * min(len(first), len(second))


def _numbers(fact: KeyedFact) -> frozenset[str]:
    return frozenset(_DIGITS.findall(fact.quote))
