"""What led to what in a session, from the question to each sentence: why a sentence says something, and all of it as a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pipeline.domain.findings import all_facts, by_model, chosen_pages, contradictions, disputed_facts, page_of
from pipeline.domain.report_parts import kept_text
from pipeline.domain.state import SUMMARY, SessionState, workers_in_order
from pipeline.domain.values import Fact, Hit, Paragraph, ReportSection
from pipeline.text.normalise import digest_of, normalised, one_line
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.words import jaccard

NodeKind = Literal[
    "question", "perspective", "thought", "search", "page", "fact", "contradiction", "gap", "section", "sentence", "decision"
]
NODE_KINDS: tuple[NodeKind, ...] = get_args(NodeKind)
_LEAST_LIKENESS = 0.2  # of the words asked for and a sentence's
_SHORTEST_ID = 4
_LABEL = 300


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence with its section and the ids of the facts that it cites. ``cut`` is why it was cut, or ""."""

    section: str
    title: str
    text: str
    facts: tuple[str, ...]
    cut: str = ""


def sentences_of_report(state: SessionState) -> list[WrittenSentence]:
    """Return the sentences of the report, the summary first, then those that were cut; before the report, those written."""
    kept, cut = (state.report.sections, state.report.cut_sentences) if state.report else kept_text(state)
    summary = ReportSection(id=SUMMARY, title="", paragraphs=(Paragraph(sentences=state.report.summary if state.report else ()),))
    found = [
        WrittenSentence(section.id, _title(section.id, section.title), one.text, one.facts)
        for section in (summary, *kept)
        for paragraph in section.paragraphs
        for one in paragraph.sentences
    ]
    known = {(one.section, one.text) for one in found}
    lost = (one for one in cut if (one.section, one.text) not in known)
    return found + [WrittenSentence(one.section, _title(one.section, one.title), one.text, one.facts, one.reason) for one in lost]


def _title(section: str, title: str) -> str:
    return "In short" if section == SUMMARY else title


@dataclass(frozen=True, slots=True)
class Origin:
    """One way to a page: the search that found it, the hit's place in it, and the thought and perspective behind the search.

    ``thought`` is "" for the first search, on the question itself; ``step`` names the worker and its iteration.
    """

    search: str
    rank: int
    thought: str = ""
    step: str = ""
    perspective: str = ""
    focus: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact with the ways to its page. ``against`` holds pairs of a fact that contradicts it and the explanation."""

    fact: Fact
    origins: tuple[Origin, ...]
    against: tuple[tuple[Fact, str], ...]


@dataclass(frozen=True, slots=True)
class Why:
    """A sentence, or None for a fact that was named, and the evidence for it, in the order of its citations."""

    sentence: WrittenSentence | None
    evidence: tuple[Evidence, ...]


def why(state: SessionState, words: str) -> Why | None:
    """Return the evidence for the fact of that id, or for the sentence nearest to ``words``; None if nothing is near.

    Near is the sentence that contains the words, or else shares most of its stems with them; the first of several.
    """
    facts = {fact.id: fact for fact in all_facts(state)}
    wanted = words.strip().removeprefix("fact:")
    if named := [name for name in facts if len(wanted) >= _SHORTEST_ID and name.startswith(wanted)]:
        return Why(None, (_evidence(state, facts, named[0]),))
    plain, stems, sentences = normalised(words).casefold(), content_stems(words), sentences_of_report(state)

    def likeness(one: WrittenSentence) -> float:
        said = content_stems(one.text)
        share = len(stems & said) / len(stems) if stems else 0.0
        return max(jaccard(stems, said), 0.5 * share)

    sentence = next((one for one in sentences if plain and plain in normalised(one.text).casefold()), None)
    sentence = sentence or max(sentences, key=likeness, default=None)
    if sentence is None or (plain not in normalised(sentence.text).casefold() and likeness(sentence) < _LEAST_LIKENESS):
        return None
    return Why(sentence, tuple(_evidence(state, facts, name) for name in sentence.facts if name in facts))


def _evidence(state: SessionState, facts: dict[str, Fact], name: str) -> Evidence:
    pairs = [pair for pair in contradictions(state) if name in (pair.a, pair.b)]
    others = [(pair.b if pair.a == name else pair.a, pair.explanation or pair.subject) for pair in pairs]
    against = tuple((facts[other], text) for other, text in others if other in facts)
    return Evidence(facts[name], tuple(_origins(state, facts[name].url)), against)


def _origins(state: SessionState, url: str) -> Iterator[Origin]:
    """Yield the ways to a page: those of workers in plan order, then the first search."""

    def rank_in(hits: Iterable[Hit]) -> int:
        return next((rank for rank, hit in enumerate(hits, start=1) if page_of(hit.url) == url), 0)

    for worker in workers_in_order(state):
        view = state.perspectives.get(worker.perspective_id)
        for number, step in enumerate(worker.iterations, start=1):
            for query in dict.fromkeys(step.queries):
                done = state.searches.get(query)
                if rank := rank_in(done.hits if done else ()):
                    about = (view.name, view.focus) if view else ("", "")
                    yield Origin(query, rank, step.reasoning, f"{worker.id}, iteration {number}", *about)
    if state.survey and (rank := rank_in(state.survey.hits)):
        yield Origin(state.query, rank)


def value_of(found: Why) -> dict[str, Any]:
    """Return a sentence and its evidence as one JSON value."""
    sentence = found.sentence
    named = {"text": sentence.text, "section": sentence.section, "cut": sentence.cut} if sentence else None
    evidence = [
        {
            "fact": one.fact.model_dump(),
            "standing": "disputed" if one.against else "single",
            "origins": [{x: getattr(way, x) for x in ("search", "rank", "thought", "perspective")} for way in one.origins],
            "against": [{"fact": fact.id, "quote": fact.quote, "explanation": text} for fact, text in one.against],
        }
        for one in found.evidence
    ]
    return {"sentence": named, "evidence": evidence}


class _Graph:
    """Nodes by id, and edges between them, in the order of the plan."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: dict[tuple[str, str, str], int] = {}

    def add(self, kind: NodeKind, key: str, label: str, note: str = "", *, most: int = _LABEL) -> str:
        """Add a node, unless it is there, and return its id, which depends on what the node is about and on nothing else."""
        name = f"{kind}:{key}".rstrip(":")
        self.nodes.setdefault(name, {"id": name, "kind": kind, "label": one_line(label, most), "note": one_line(note, _LABEL)})
        return name

    def join(self, source: str, edge: str, target: str, rank: int = 0) -> None:
        """Add an edge; ``rank`` is a hit's place in its search, from 1."""
        self.edges.setdefault((source, target, edge), rank)

    def search(self, thought: str, query: str, note: str, hits: Iterable[Hit]) -> None:
        """Add a search, and an edge to each page by its best hit."""
        name = self.add("search", _short(query), query, note)
        self.join(thought, "searched", name)
        for rank, hit in enumerate(hits, start=1):
            self.join(name, "found", f"page:{_short(page_of(hit.url))}", rank)


def _short(text: str) -> str:
    return digest_of(text.encode())[:12]


def graph_of(state: SessionState, kinds: Iterable[str] = NODE_KINDS) -> dict[str, list[dict[str, Any]]]:
    """Return all that led to a report as nodes and edges of these kinds, as far as the session has come.

    An edge goes from the cause to what it brought about, except ``cites`` (sentence to fact) and ``quotes`` (fact to page).
    """
    graph = _Graph()
    question = graph.add("question", "", state.query)
    for _, page in sorted(state.pages.items()):
        graph.add("page", _short(page.url), page.title or page.url, page.url)
    for view in state.perspectives.values():
        name = graph.add("perspective", view.id, view.name, view.focus)
        if not view.id.startswith("gap-"):
            graph.join(question, "asks", name)
    if state.survey:
        graph.search(question, state.query, "the first search, on the question itself", state.survey.hits)
    for worker in workers_in_order(state):
        for number, step in enumerate(worker.iterations, start=1):
            where = f"{worker.id}, iteration {number}"
            thought = graph.add("thought", f"{worker.id}:{number}", step.reasoning, where)
            graph.join(f"perspective:{worker.perspective_id}", "asks", thought)
            for query in step.queries:
                done = state.searches.get(query)
                graph.search(thought, query, done.provider if done else "not made", done.hits if done else ())
            pages = step.observed if by_model(state) else chosen_pages(state, worker, number)
            if chosen := [url for url in pages if url in state.pages]:
                label = f"{len(chosen)} of the pages found were read"
                choice = graph.add("decision", f"chosen:{worker.id}:{number}", label, where)
                graph.join(thought, "led to", choice)
                for url in chosen:
                    graph.join(choice, "read", f"page:{_short(url)}")
    disputed = disputed_facts(state)
    for fact in all_facts(state):
        name = graph.add("fact", fact.id, fact.quote, "disputed" if fact.id in disputed else "single")
        graph.join(name, "quotes", f"page:{_short(fact.url)}")
    for pair in contradictions(state):
        name = graph.add("contradiction", f"{pair.a}:{pair.b}", pair.explanation or pair.subject, pair.kind)
        graph.join(name, "contradicts", f"fact:{pair.a}")
        graph.join(name, "contradicts", f"fact:{pair.b}")
    for analysis in state.analyses:
        for number, gap in enumerate(analysis.gaps or ()):
            name = graph.add("gap", f"{analysis.round}:{number}", gap.question, gap.reason)
            graph.join(f"perspective:{gap.perspective}" if gap.perspective in state.perspectives else question, "raises", name)
            for view in state.perspectives.values():
                if view.id.startswith("gap-") and gap.question in view.questions:
                    graph.join(name, "led to", f"perspective:{view.id}")
    for sentence in sentences_of_report(state):
        section = graph.add("section", sentence.section, sentence.title)
        key = _short(f"{sentence.section}|{sentence.text}")
        name = graph.add("sentence", key, sentence.text, "cut" if sentence.cut else "", most=2_000)
        graph.join(section, "holds", name)
        for fact_id in sentence.facts:
            graph.join(name, "cites", f"fact:{fact_id}")
        if sentence.cut:
            graph.join(graph.add("decision", f"cut:{key}", "The sentence was cut", sentence.cut), "cuts", name)
    for change in state.changes.changed if state.changes else ():
        before = graph.add("fact", change.before.id, change.before.quote, "superseded")
        graph.join(f"fact:{change.after}", "supersedes", before)
    decisions = [("approved", "The plan was approved", "")] if state.approval == "given" else []
    decisions += [("budget", "The gathering was cut short", state.exhausted)] if state.exhausted else []
    without = sorted(state.without_model.items())
    decisions += [(f"without-model:{step}", f"{step} was done without the model", reason) for step, reason in without]
    for decision in decisions:
        graph.join(graph.add("decision", *decision), "led to", question)
    nodes = {name: node for name, node in graph.nodes.items() if node["kind"] in set(kinds)}
    edges = [(*ends, rank) for ends, rank in graph.edges.items() if ends[0] in nodes and ends[1] in nodes]
    fields = ("source", "target", "type", "rank")
    return {"nodes": list(nodes.values()), "edges": [dict(zip(fields, edge, strict=True)) for edge in edges]}
