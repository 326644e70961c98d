"""What an honest, plain model would answer to each question, from nothing but its prompt. One rule a question, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

from tests.standin.prompt import KeyedFact, Prompt, keys_in, sentences
from tests.standin.world import terms

_SECTIONS = re.compile(r"\b(\d+) to \d+ sections\b")
_CITES = re.compile(r"\(cites [^()]*\)$")
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


def answer(prompt: Prompt) -> dict[str, Any]:
    """Return what the model would say, in the words of the answers' schemas; {} for a question without a rule."""
    rule = RULES.get(prompt.name)
    return rule(prompt) if rule else {}


def perspectives(prompt: Prompt) -> dict[str, Any]:
    """As many points of view as asked for, the basic facts first and the sceptic last."""
    count = min(prompt.limit("points", 3), len(_ANGLES))
    each = prompt.limit("questions", 3)
    chosen = _ANGLES[: count - 1] + _ANGLES[-1:] if count > 1 else _ANGLES[:1]
    subject = " ".join(_subject(prompt))
    return {"perspectives": [_perspective(angle, subject, each) for angle in chosen]}


def _perspective(angle: str, subject: str, each: int) -> dict[str, Any]:
    name = angle.replace("-", " ").capitalize()
    questions = [question.format(subject) for question in _ASKED[angle][:each]]
    return {"name": name, "focus": f"{name} of {subject}", "questions": questions, "keywords": subject.split()}


def thought(prompt: Prompt) -> dict[str, Any]:
    """One search for each question that has no fact yet, without those already made."""
    limit = prompt.limit("search", 3)
    queries = (" ".join(_ordered_terms(question)) for question in _unanswered(prompt) or prompt.open_questions)
    new = [query for query in dict.fromkeys(queries) if query and query not in prompt.items]
    return {"reasoning": "These questions have no fact yet.", "queries": new[:limit]}


def observation(prompt: Prompt) -> dict[str, Any]:
    """The sentences of the page that share most words with the questions, verbatim."""
    told = dict.fromkeys(sentence for _, text in prompt.pages for sentence in sentences(text))
    liked = sorted((sentence for sentence in told if _likeness(sentence, prompt)), key=lambda one: -_likeness(one, prompt))
    return {"findings": [_finding(sentence, prompt) for sentence in liked[: prompt.limit("best", 8)]], "more_sections": []}


def _finding(sentence: str, prompt: Prompt) -> dict[str, Any]:
    question = max(prompt.open_questions, key=lambda one: _overlap(one, sentence), default="")
    relevance = "high" if _likeness(sentence, prompt) > 2 else "medium"
    return {"claim": sentence, "quote": sentence, "question": prompt.asked.get(question, ""), "relevance": relevance}


def _likeness(sentence: str, prompt: Prompt) -> int:
    wanted = frozenset[str]().union(*(terms(question) for question in prompt.asked))
    return len(terms(sentence) & wanted)


def evaluation(prompt: Prompt) -> dict[str, Any]:
    """The questions that no fact speaks to, and a search for each."""
    gaps = _unanswered(prompt)
    keys = [prompt.asked[question] or question for question in gaps]
    reason = f"{len(prompt.facts)} facts, {len(gaps)} questions open."
    return {"open_questions": keys, "reason": reason, "queries": thought(prompt)["queries"]}


def cross_check(prompt: Prompt) -> dict[str, Any]:
    """Facts of other sources with the same numbers confirm a fact; pairs alike in words and different in numbers contradict."""
    entries = (_validated(fact, prompt.facts) for fact in prompt.facts)
    confirmations = [entry for entry in entries if entry["confirmed_by"]]
    return {"confirmations": confirmations, "contradictions": _contradictions(prompt)}


def _validated(fact: KeyedFact, everything: Sequence[KeyedFact]) -> dict[str, Any]:
    others = [other for other in everything if other.block == fact.block and other.origin != fact.origin and _alike(fact, other)]
    same = [other.key for other in others if _numbers(other) == _numbers(fact)]
    return {"evidence": fact.key, "confirmed_by": same, "confidence": "high"}


def _contradictions(prompt: Prompt) -> list[dict[str, Any]]:
    pairs = (
        pair for pair in combinations(prompt.facts, 2) if pair[0].block == pair[1].block and pair[0].origin != pair[1].origin
    )
    return [_clash(*pair) for pair in pairs if _alike(*pair) and _numbers(pair[0]) != _numbers(pair[1])]


def _clash(one: KeyedFact, other: KeyedFact) -> dict[str, Any]:
    subject = " ".join(_ordered_terms(one.quote)[:4])
    why = f"{', '.join(sorted(_numbers(one)))} against {', '.join(sorted(_numbers(other)))}"
    return {"first": one.key, "second": other.key, "subject": subject, "kind": "number", "explanation": why}


def gaps(prompt: Prompt) -> dict[str, Any]:
    """The questions that no fact speaks to, the first the most important."""
    levels = ("high", "medium", "low")
    found = [
        {"question": question, "importance": levels[min(at, 2)], "reason": "No fact answers it.", "perspective": ""}
        for at, question in enumerate(_unanswered(prompt))
    ]
    return {"gaps": found}


def outline(prompt: Prompt) -> dict[str, Any]:
    """All facts dealt out over the sections, each to one."""
    keys = [fact.key for fact in prompt.facts]
    asked = _SECTIONS.search(prompt.frame)
    count = min(int(asked[1]) if asked else 4, len(keys))
    titles = ("What it is", "What was measured", "What it costs", "Where it ends", "What is disputed", "What is open")
    sections = [
        {"title": titles[at % len(titles)], "purpose": "Tells what the facts say.", "evidence": keys[at::count]}
        for at in range(count)
    ]
    return {"title": f"On {' '.join(_subject(prompt))}", "sections": sections}


def section(prompt: Prompt) -> dict[str, Any]:
    """One sentence a fact, in the fact's own words, with its key, within the words allowed."""
    left = prompt.limit("words", 250)
    told: list[dict[str, Any]] = []
    for fact in prompt.own:
        left -= len(fact.quote.split())
        if left >= 0 or not told:
            told.append({"text": fact.quote, "evidence": [fact.key]})
    return {"paragraphs": [{"sentences": told[at : at + 4]} for at in range(0, len(told), 4)]}


def claim_check(prompt: Prompt) -> dict[str, Any]:
    """A sentence is supported when half its words stand in the quotes it cites."""
    quotes = {fact.key: fact.quote for fact in prompt.facts}
    return {"verdicts": [_verdict(key, text, quotes) for key, text in prompt.checked]}


def _verdict(key: str, text: str, quotes: dict[str, str]) -> dict[str, Any]:
    cited = " ".join(quotes.get(name, "") for name in keys_in(text))
    wanted = terms(_CITES.sub("", text))
    supported = bool(wanted) and 2 * len(wanted & terms(cited)) >= len(wanted)
    return {"sentence": key, "supported": supported, "reason": "" if supported else "The quotes do not say so."}


def revision(_prompt: Prompt) -> dict[str, Any]:
    """What is not supported is left out."""
    return {"edits": [], "title": ""}


def editing(_prompt: Prompt) -> dict[str, Any]:
    """The report stays as it is."""
    return {"edits": [], "order": [], "to_do": [], "how_sure": []}


def fold(prompt: Prompt) -> dict[str, Any]:
    """The facts' quotes, one after the other, within the words allowed."""
    words = " ".join([*prompt.memory, *(fact.quote for fact in prompt.facts)]).split() or ["Nothing", "is", "known", "yet."]
    mode = "deep" if any(line.startswith("L0: ") for line in prompt.memory) else "granular"
    return {"mode": mode, "summary": " ".join(words[: prompt.limit("words", 200)])}


def stand_alone(prompt: Prompt) -> dict[str, Any]:
    """The question as it is."""
    return {"question": prompt.query}


def talk(prompt: Prompt) -> dict[str, Any]:
    """The first facts, word for word."""
    sentences = [{"text": fact.quote, "evidence": [fact.key], "basis": "quoted", "cells": []} for fact in prompt.facts[:2]]
    return {"sentences": sentences, "follow_ups": []}


def episode(prompt: Prompt) -> dict[str, Any]:
    """The first fact, word for word."""
    return {"episode": [{"text": x.quote, "evidence": [x.key], "basis": "quoted", "cells": []} for x in prompt.facts[:1]]}


RULES: dict[str, Callable[[Prompt], dict[str, Any]]] = {
    "perspectives": perspectives,
    "thought": thought,
    "observation": observation,
    "evaluation": evaluation,
    "cross_check": cross_check,
    "gaps": gaps,
    "outline": outline,
    "section": section,
    "claim_check": claim_check,
    "revision": revision,
    "editing": editing,
    "fold": fold,
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


def _unanswered(prompt: Prompt) -> tuple[str, ...]:
    known = [*prompt.memory, *(fact.quote for fact in prompt.facts)]
    return tuple(question for question in prompt.open_questions if not _spoken_to(question, known))


def _spoken_to(question: str, known: Iterable[str]) -> bool:
    wanted = terms(question)
    return any(2 * len(wanted & terms(text)) >= len(wanted) for text in known)


def _alike(one: KeyedFact, other: KeyedFact) -> bool:
    first, second = (terms(_DIGITS.sub("", fact.quote)) for fact in (one, other))
    return 2 * len(first & second) >= min(len(first), len(second))


def _numbers(fact: KeyedFact) -> frozenset[str]:
    return frozenset(_DIGITS.findall(fact.quote))
