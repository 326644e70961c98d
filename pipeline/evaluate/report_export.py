"""Export of reports in the formats of public benchmarks (DeepResearch Bench, TREC RAG), without held-out questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.domain.state import Report
from pipeline.evaluate.question_set.question_set import Dataset, Entry
from pipeline.evaluate.scoring.outcome import Outcome, document_of
from pipeline.evaluate.scoring.report_text import CitedText, cited_texts, parts_of

RUN_NAME = "night-research"
_MOST_REFERENCES = 100

Row = dict[str, Any]


def deepresearch(entry: Entry, report: Report | None, outcome: Outcome) -> Row:
    """Return ``{id, prompt, article}``: the report as Markdown with numbered sources."""
    return {"id": entry.id, "prompt": entry.query, "article": "\n\n".join(_article(report, outcome)) if report else ""}


def _article(report: Report, outcome: Outcome) -> Iterator[str]:
    numbers = {reference.url: reference.number for reference in report.references}
    yield f"# {report.title}"
    for part in parts_of(report):
        if part.title:
            yield f"## {part.title}"
        for paragraph in part.paragraphs:
            yield " ".join(f"{stated.text}{_marks(stated, outcome, numbers)}" for stated in paragraph)
    yield "## References"
    yield "\n".join(f"[{reference.number}] {reference.title} {reference.url}" for reference in report.references)


def _marks(stated: CitedText, outcome: Outcome, numbers: Mapping[str, int]) -> str:
    cited = sorted({numbers[url] for url in _urls(stated, outcome) if url in numbers})
    return "".join(f" [{number}]" for number in cited)


def _urls(stated: CitedText, outcome: Outcome) -> list[str]:
    facts = outcome.state.facts if outcome.state else {}
    return list(dict.fromkeys(facts[name].url for name in stated.facts if name in facts))


def trec_rag(entry: Entry, report: Report | None, outcome: Outcome) -> Row:
    """Return a topic's answer in the TREC RAG format; citations are indexes into ``references``, from 0."""
    stated = list(cited_texts(report))
    urls = list(dict.fromkeys(url for sentence in stated for url in _urls(sentence, outcome)))[:_MOST_REFERENCES]
    places = {url: place for place, url in enumerate(urls)}
    answer = [
        {"text": sentence.text, "citations": [places[url] for url in _urls(sentence, outcome) if url in places]}
        for sentence in stated
    ]
    return {
        "run_id": RUN_NAME,
        "topic_id": entry.id,
        "topic": entry.query,
        "references": [document_of(url) for url in urls],
        "response_length": sum(len(sentence.text.split()) for sentence in stated),
        "answer": answer,
    }


WRITERS: Mapping[str, Callable[[Entry, Report | None, Outcome], Row]] = {"deepresearch": deepresearch, "trec-rag": trec_rag}


def write(kind: str, path: Path, dataset: Dataset, outcomes: Mapping[str, Outcome]) -> int:
    """Write one JSON line for each question of the dev half; return the number of lines.

    Raises:
        OSError: the file cannot be written.
    """
    rows = [
        WRITERS[kind](entry, outcomes[entry.id].report, outcomes[entry.id])
        for entry in dataset.entries
        if entry.half == "dev" and entry.id in outcomes
    ]
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return len(rows)
