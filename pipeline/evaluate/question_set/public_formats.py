"""Conversion of public data sets (BEIR, HotpotQA, MultiHop-RAG, BrowseComp-Plus) on disk into folders for evaluation."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError
from pipeline.text.normalise import digest_of, slug

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
# Answers that any text may hold by accident. For such questions, only the documents found can be scored.
_GENERIC_ANSWERS = frozenset(("yes", "no", "true", "false", "before", "after"))


@dataclass(slots=True)
class Converted:
    """A data set's content. ``documents`` are (title, text) by id; ``qrels`` are relevance by topic and document id."""

    topics: list[dict[str, Any]] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    unanswerable: list[dict[str, Any]] = field(default_factory=list)
    documents: dict[str, tuple[str, str]] = field(default_factory=dict)
    qrels: dict[str, dict[str, int]] = field(default_factory=dict)

    def ask(self, name: str, query: str, half: str = "dev") -> None:
        """Add a topic."""
        self.topics.append({"id": name, "query": " ".join(query.split())[:500], "half": half})

    def answer(self, name: str, answer: str, docs: Iterable[str], support: str = "") -> None:
        """Add the short answer to a topic and the documents that it needs."""
        docs = list(dict.fromkeys(docs))
        self.qrels[name] = dict.fromkeys(docs, 1)
        if answer.strip() and answer.strip().casefold().rstrip(".") not in _GENERIC_ANSWERS:
            self.answers.append({"id": name, "aliases": [answer.strip()], "support": support})


def beir(source: Path) -> Converted:
    """Read BEIR: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/*.tsv``. With a dev and a test split, the test is held out."""
    found = Converted()
    for row in _lines(source / "corpus.jsonl"):
        found.documents[str(row["_id"])] = (str(row.get("title") or row["_id"]), str(row["text"]))
    splits = {path.stem: path for path in sorted((source / "qrels").glob("*.tsv"))}
    halves: dict[str, str] = {}
    for split, path in splits.items():
        for topic, document, relevance in _judgements(path):
            found.qrels.setdefault(topic, {})[document] = relevance
            halves[topic] = "held-out" if split == "test" and len(splits) > 1 else "dev"
    for row in _lines(source / "queries.jsonl"):
        if str(row["_id"]) in halves:
            found.ask(str(row["_id"]), str(row["text"]), halves[str(row["_id"])])
    return found


def _judgements(path: Path) -> Iterator[tuple[str, str, int]]:
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.reader(file, delimiter="\t"):
            if len(row) == 3 and row[2].strip().lstrip("-").isdigit():  # the first line names the columns
                yield row[0], row[1], int(row[2])


def hotpotqa(source: Path) -> Converted:
    """Read HotpotQA: a JSON list; the documents are the paragraphs of all contexts."""
    found = Converted()
    for row in _value(source):
        texts = {str(title): [str(sentence) for sentence in sentences] for title, sentences in row["context"]}
        found.documents |= {title: (title, "".join(sentences)) for title, sentences in texts.items()}
        facts = [(str(title), int(place)) for title, place in row["supporting_facts"] if title in texts]
        found.ask(str(row["_id"]), row["question"])
        found.answer(str(row["_id"]), str(row["answer"]), [title for title, _ in facts], _support(texts, facts, row["answer"]))
    return found


def _support(texts: Mapping[str, list[str]], facts: Iterable[tuple[str, int]], answer: str) -> str:
    sentences = (texts[title][place] for title, place in facts if place < len(texts[title]))
    return next((sentence.strip() for sentence in sentences if answer.casefold() in sentence.casefold()), "")


def multihop_rag(source: Path) -> Converted:
    """Read MultiHop-RAG: ``corpus.json`` and ``MultiHopRAG.json``; questions without evidence are unanswerable."""
    found = Converted()
    for row in _value(source / "corpus.json"):
        found.documents[str(row.get("url") or row["title"])] = (str(row["title"]), str(row["body"]))
    for number, row in enumerate(_value(source / "MultiHopRAG.json"), start=1):
        name = f"multihop-{number:05}"
        evidence = [str(entry.get("url") or entry["title"]) for entry in row["evidence_list"]]
        if not evidence:
            found.unanswerable.append({"id": name, "query": row["query"], "kind": "near-topic"})
            continue
        found.ask(name, row["query"])
        found.answer(name, str(row["answer"]), (doc for doc in evidence if doc in found.documents))
    return found


def browsecomp(source: Path) -> Converted:
    """Read decrypted BrowseComp-Plus rows: query, answer, and the gold, evidence and negative documents of each."""
    found = Converted()
    for row in _lines(source):
        name = str(row["query_id"])
        needed = [*row.get("gold_docs", ()), *row.get("evidence_docs", ())]
        for document in (*needed, *row.get("negative_docs", ())):
            found.documents[str(document["docid"])] = (str(document.get("title") or document["docid"]), str(document["text"]))
        found.ask(name, row["query"])
        found.answer(name, str(row["answer"]), (str(document["docid"]) for document in needed))
    return found


FORMATS: Mapping[str, Callable[[Path], Converted]] = {
    "beir": beir,
    "hotpotqa": hotpotqa,
    "multihop-rag": multihop_rag,
    "browsecomp-plus": browsecomp,
}


def convert(kind: str, source: Path, folder: Path) -> tuple[int, int]:
    """Write the data set as a folder that can be evaluated; return the number of questions and of documents.

    Raises:
        UsageError: ``source`` is not of that kind; ``folder`` is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", hint="name a new folder for the converted data")
    try:
        found = FORMATS[kind](source)
    except OSError as error:
        raise UsageError(
            f"{error.filename or source} cannot be read: {error.strerror}", hint=f"is this a {kind} data set?"
        ) from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        what = f"{type(error).__name__}: {error}"[:200]
        raise UsageError(f"{source} is not shaped like {kind}: {what}", hint="docs/evaluate.md names the files") from error
    _write(found, folder)
    return len(found.topics) + len(found.unanswerable), len(found.documents)


def _write(found: Converted, folder: Path) -> None:
    (folder / "corpus").mkdir(parents=True)
    names = {name: f"{_file_name(name)}.txt" for name in found.documents}
    for name, (title, text) in found.documents.items():
        heading = " ".join(title.split())[:300] or name
        (folder / "corpus" / names[name]).write_text(f"{heading}\n{'=' * max(3, len(heading))}\n\n{text}\n", encoding="utf-8")
    docs = {topic: [names[doc] for doc in judged if doc in names and judged[doc] > 0] for topic, judged in found.qrels.items()}
    # The document of an answer is known only if there is just one.
    answers = [row | ({"doc": docs[row["id"]][0]} if len(docs[row["id"]]) == 1 else {}) for row in found.answers]
    for name, rows in (("topics", found.topics), ("answers", answers), ("unanswerable", found.unanswerable)):
        if rows:
            lines = (json.dumps(row, ensure_ascii=False) for row in rows)
            (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    asked = {row["id"] for row in found.topics}
    lines = (f"{topic} 0 {doc} 1\n" for topic, judged in docs.items() if topic in asked for doc in judged)
    (folder / "qrels.txt").write_text("".join(lines), encoding="utf-8")


def _file_name(name: str) -> str:
    """Return a plain file name for any document id; two ids never share one."""
    return name if _PLAIN_NAME.fullmatch(name) else f"{slug(name, 60)}-{digest_of(name.encode('utf-8', 'replace'))[:10]}"


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def _value(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
