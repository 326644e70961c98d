"""Which sessions a note of a name lists, and under which of them a statement stands that several quote."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.memory.fold import Memory, Remembered
from pipeline.domain.memory.naming.prose import words_of
from pipeline.domain.memory.naming.telling import is_named
from pipeline.domain.memory.naming.word_classes import is_function_word
from pipeline.text.stemming import language_of, stems

_NOTHING_FOUND = "not-found"  # the outcome of a session without an answer


def sessions_to_list(memory: Memory, names: Iterable[str], found: Iterable[Remembered], shown: Iterable[Remembered]) -> set[str]:
    """Return the sessions that quote what is ``shown``, or quote one of the statements ``found`` and ask for the name.

    A session that found no answer is none of them.
    """
    wanted = tuple(names)
    asking = {name for one in found for name in one.sessions if is_named(wanted, memory.sessions[name].query)}
    quoting = {name for one in shown for name in one.sessions}
    return {name for name in asking | quoting if memory.sessions[name].outcome != _NOTHING_FOUND}


def answered_session(memory: Memory, names: Iterable[str], one: Remembered) -> str:
    """Return of the sessions that quote a statement that whose question asks for the name, or is nearest to the statement."""
    wanted, language = tuple(names), language_of(one.statement.quote)
    said = frozenset(stems(f"{one.statement.title} {one.statement.heading} {one.statement.quote}"))

    def near(name: str) -> tuple[bool, int]:
        query = memory.sessions[name].query
        words = (word for word in words_of(query) if not is_function_word(word, language))
        return is_named(wanted, query), len(said.intersection(stems(" ".join(words))))

    answering = [name for name in one.sessions if memory.sessions[name].outcome != _NOTHING_FOUND]
    return max(answering or one.sessions, key=near)
