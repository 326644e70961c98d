"""Which sessions a note of a name lists, and under which of them a statement stands that several quote."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.memory.fold import Memory, Remembered
from pipeline.domain.memory.naming.prose import words_of
from pipeline.domain.memory.naming.telling import is_named
from pipeline.domain.memory.naming.word_classes import is_function_word
from pipeline.text.stemming import language_of, stems

_NOTHING_FOUND = "not-found"  # the outcome of a session without an answer


def sessions_to_list(memory: Memory, shown: Iterable[Remembered]) -> set[str]:
    """Return the sessions whose reports cite one of the statements that a note shows; none that found no answer."""
    facts = {one.statement.fact: one.sessions for one in shown}
    quoting = {name for fact, sessions in facts.items() for name in sessions if fact in cited_facts(memory, name)}
    return {name for name in quoting if memory.sessions[name].outcome != _NOTHING_FOUND}


def cited_facts(memory: Memory, session: str) -> frozenset[str]:
    """Return the ids of the facts that a session's report cites."""
    return frozenset(one.fact for one in memory.sessions[session].statements if one.cited)


def answered_session(memory: Memory, names: Iterable[str], one: Remembered) -> str:
    """Return of the sessions that quote a statement that whose question asks for the name, or is nearest to the statement."""
    wanted, said = tuple(names), f"{one.statement.title} {one.statement.heading} {one.statement.quote}"

    def near(name: str) -> tuple[bool, int]:
        return is_named(wanted, memory.sessions[name].query), _shared(memory, name, one, said)

    answering = [name for name in one.sessions if memory.sessions[name].outcome != _NOTHING_FOUND]
    return max(answering or one.sessions, key=near)


def distance(memory: Memory, session: str, one: Remembered, text: str) -> tuple[bool, int]:
    """Return how far a statement's ``text`` is from a session's question: what its report gives in short is nearest."""
    shared = _shared(memory, session, one, f"{one.statement.heading} {text}")
    return one.statement.fact not in memory.sessions[session].episode.facts, -shared


def _shared(memory: Memory, session: str, one: Remembered, said: str) -> int:
    """Return how many words of a session's question, without small ones, a text holds."""
    language = language_of(one.statement.quote)
    words = (word for word in words_of(memory.sessions[session].query) if not is_function_word(word, language))
    return len(frozenset(stems(said)).intersection(stems(" ".join(words))))
