"""The values of the prompts about what is known from before: what a session recalls, talks, and sentences for memory."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.adapters.reasoners.openai.prompting.delimiters import Material
from pipeline.adapters.reasoners.openai.prompting.fact_listing import place_of
from pipeline.adapters.reasoners.openai.prompting.prompt_parts import SNIPPET, PromptParts, View, evidence_for
from pipeline.domain.memory.values import Recalled, RecalledStatement
from pipeline.domain.reasoner_questions.memory_questions import EpisodeQuestion
from pipeline.domain.reasoner_questions.talk_questions import PastTurn, StandAloneQuestion, TalkQuestion
from pipeline.text.normalise import one_line, tokens

_ANSWER = 900  # characters of an earlier answer in a talk


def recalled_view(recalled: Recalled, tools: PromptParts) -> View:
    """Return what earlier nights found, without keys, because it is no evidence: statements, searches, open questions."""
    parts = {
        "statements": _statement_lines(recalled.statements, tools.limit // 4),
        "queries": recalled.queries,
        "fruitless": recalled.fruitless,
        "open": recalled.open,
        "episodes": [f"- {one.question} ({one.day}): {one.text}" for one in recalled.episodes],
    }
    return {
        name: tools.delimiters.block(f"RECALLED-{name.upper()}", "\n".join(one_line(line, 2 * SNIPPET) for line in lines))
        if lines
        else ""
        for name, lines in parts.items()
    }


def _statement_lines(statements: Sequence[RecalledStatement], left: int) -> list[str]:
    lines: list[str] = []
    for one in statements:
        line = f"- {one_line(one.statement.claim, SNIPPET)} ({place_of(one.statement.url)}, {one.day})"
        left -= tokens(line)
        if left < 0:
            break
        lines.append(line)
    return lines


def stand_alone_view(question: StandAloneQuestion, tools: PromptParts) -> View:
    """Return the values for making a question understandable without the turns before it."""
    earlier = tools.delimiters.block("EARLIER", "\n".join(map(one_line, question.folded))) if question.folded else ""
    return {"history": _history(question.history, tools), "earlier": earlier, "subject": question.subject}


def _history(turns: Sequence[PastTurn], tools: PromptParts) -> Material | str:
    """Return the last turns; the answers quote pages, so they are material."""
    lines = [
        f"Asked: {one_line(turn.question)}\nAnswered: {one_line(turn.answer, _ANSWER) or '(nothing found)'}" for turn in turns
    ]
    return tools.delimiters.block("HISTORY", "\n".join(lines)) if lines else ""


def talk_view(question: TalkQuestion, tools: PromptParts) -> View:
    """Return the values for an answer in a talk."""
    shown = evidence_for(question.facts, question, tools)
    return {"evidence": shown, "history": _history(question.history, tools), "words": question.words, "today": question.today}


def episode_view(question: EpisodeQuestion, tools: PromptParts) -> View:
    """Return the values for the sentences that memory keeps of a session."""
    shown = evidence_for(question.facts, question, tools)
    left = tools.delimiters.block("OPEN", "\n".join(f"- {one_line(text, SNIPPET)}" for text in question.open))
    values = {"count": question.count, "words": question.words, "today": question.today}
    return {"evidence": shown, "open": left if question.open else "", **values}
