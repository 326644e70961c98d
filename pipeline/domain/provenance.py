"""What led to what in a session, from the question to each sentence: a graph of nodes with stable ids and typed edges; and why.

An id depends on what its node is about and on nothing else, so the graphs of two versions of a session can be compared. An edge
goes from the cause to what it brought about, except ``cites`` (sentence to fact) and ``quotes`` (fact to page).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from pipeline.domain.findings import all_facts, by_model, chosen_pages, page_of, standings
from pipeline.domain.report_parts import kept_text
from pipeline.domain.state import SUMMARY, SessionState, Worker, workers_in_order
from pipeline.domain.values import Fact, Hit, Paragraph, Sentence
from pipeline.text.normalise import digest_of, normalised, one_line
from pipeline.text.ranking.query_terms import content_stems
from pipeline.text.words import jaccard

Kind = Literal[
    "question", "perspective", "thought", "search", "page", "fact", "contradiction", "gap", "section", "sentence", "decision"
]
EdgeType = Literal[
    "asks",
    "searched",
    "found",
    "read",
    "quotes",
    "supports",
    "contradicts",
    "raises",
    "led to",
    "cites",
    "cuts",
    "supersedes",
    "holds",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
QUESTION = "question"
SURVEY = "search:survey"
_LABEL = 300


@dataclass(frozen=True, slots=True)
class Node:
    """One thing that a session thought, found, wrote or decided. ``note`` says more of it, "" if there is no more."""

    id: str
    kind: Kind
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """``source`` and ``target`` are ids of nodes. ``rank`` is a hit's place in its search, from 1, else 0."""

    source: str
    target: str
    type: EdgeType
    rank: int = 0


@dataclass(slots=True)
class Graph:
    """Nodes by id and edges, both in the order of the plan."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], Edge] = field(default_factory=dict)

    def add(self, *nodes: Node) -> None:
        """Add nodes; one that is there already stays as it is."""
        for node in nodes:
            self.nodes.setdefault(node.id, node)

    def join(self, *edges: Edge) -> None:
        """Add edges between nodes that are there; any other is left out."""
        for edge in edges:
            if edge.source in self.nodes and edge.target in self.nodes:
                self.edges.setdefault((edge.source, edge.target, edge.type), edge)

    def into(self, target: str, *types: EdgeType) -> list[Edge]:
        """Return the edges of these types that lead to a node."""
        return [edge for edge in self.edges.values() if edge.target == target and edge.type in types]

    def out_of(self, source: str, *types: EdgeType) -> list[Edge]:
        """Return the edges of these types that begin at a node."""
        return [edge for edge in self.edges.values() if edge.source == source and edge.type in types]

    def limited_to(self, kinds: Iterable[str]) -> Graph:
        """Return the graph with only the nodes of these kinds, and the edges between them."""
        wanted = set(kinds)
        graph = Graph({name: node for name, node in self.nodes.items() if node.kind in wanted})
        graph.join(*self.edges.values())
        return graph


def page_id(url: str) -> str:
    """Return the id of a page's node."""
    return f"page:{digest_of(url.encode())[:12]}"


def search_id(query: str) -> str:
    """Return the id of a search's node."""
    return f"search:{digest_of(query.encode())[:12]}"


def graph_of(state: SessionState) -> Graph:
    """Return the graph of a session at the state's version."""
    graph = Graph()
    graph.add(Node(QUESTION, "question", one_line(state.query, _LABEL)))
    for part in (_plan, _pages, _survey, _workers, _facts, _contradictions, _gaps, _report, _changes, _limits):
        part(state, graph)
    return graph


def _plan(state: SessionState, graph: Graph) -> None:
    for view in state.perspectives.values():
        graph.add(Node(f"perspective:{view.id}", "perspective", one_line(view.name, _LABEL), one_line(view.focus, _LABEL)))
        if not view.id.startswith("gap-"):
            graph.join(Edge(QUESTION, f"perspective:{view.id}", "asks"))
    if state.approval == "given":
        graph.add(Node("decision:approved", "decision", "The plan was approved"))
        graph.join(Edge(QUESTION, "decision:approved", "led to"))


def _pages(state: SessionState, graph: Graph) -> None:
    for _, page in sorted(state.pages.items()):
        graph.add(Node(page_id(page.url), "page", one_line(page.title or page.url, _LABEL), page.url))


def _survey(state: SessionState, graph: Graph) -> None:
    if state.survey:
        graph.add(Node(SURVEY, "search", one_line(state.query, _LABEL), "the first search, on the question itself"))
        graph.join(Edge(QUESTION, SURVEY, "searched"), *_found(SURVEY, state.survey.hits))


def _found(search: str, hits: Iterable[Hit]) -> Iterator[Edge]:
    """Yield an edge to each page that was found and read, by its best hit."""
    for rank, hit in enumerate(hits, start=1):
        yield Edge(search, page_id(page_of(hit.url)), "found", rank)


def _workers(state: SessionState, graph: Graph) -> None:
    for worker in workers_in_order(state):
        for number, step in enumerate(worker.iterations, start=1):
            thought = f"thought:{worker.id}:{number}"
            graph.add(Node(thought, "thought", one_line(step.reasoning, _LABEL), f"{worker.id}, iteration {number}"))
            graph.join(Edge(f"perspective:{worker.perspective_id}", thought, "asks"))
            for query in step.queries:
                done = state.searches.get(query)
                graph.add(Node(search_id(query), "search", one_line(query, _LABEL), done.provider if done else "not made"))
                graph.join(Edge(thought, search_id(query), "searched"))
                graph.join(*_found(search_id(query), done.hits if done else ()))
            _choice(state, graph, worker, number)


def _choice(state: SessionState, graph: Graph, worker: Worker, number: int) -> None:
    """Add what the worker chose to read in an iteration."""
    observed = worker.iterations[number - 1].observed
    chosen = list(observed) if by_model(state) else [url for url in chosen_pages(state, worker, number) if url in state.pages]
    if not chosen:
        return
    name, thought = f"decision:chosen:{worker.id}:{number}", f"thought:{worker.id}:{number}"
    graph.add(Node(name, "decision", f"{len(chosen)} of the pages found were read", f"{worker.id}, iteration {number}"))
    graph.join(Edge(thought, name, "led to"), *(Edge(name, page_id(url), "read") for url in chosen))


def _facts(state: SessionState, graph: Graph) -> None:
    known = standings(state)
    for fact in all_facts(state):
        graph.add(Node(f"fact:{fact.id}", "fact", one_line(fact.quote, _LABEL), known[fact.id].standing))
        graph.join(Edge(f"fact:{fact.id}", page_id(fact.url), "quotes"))
    for name, entry in known.items():
        graph.join(*(Edge(f"fact:{other}", f"fact:{name}", "supports") for other in entry.support))


def _contradictions(state: SessionState, graph: Graph) -> None:
    for pair in next((one.contradictions for one in reversed(state.analyses) if one.contradictions is not None), ()):
        name = f"contradiction:{pair.a}:{pair.b}"
        graph.add(Node(name, "contradiction", one_line(pair.explanation or pair.subject, _LABEL), pair.kind))
        graph.join(Edge(name, f"fact:{pair.a}", "contradicts"), Edge(name, f"fact:{pair.b}", "contradicts"))


def _gaps(state: SessionState, graph: Graph) -> None:
    """Add the gaps of each round, the facts that answer them and the perspectives that they led to."""
    for analysis in state.analyses:
        for number, gap in enumerate(analysis.gaps or ()):
            name = f"gap:{analysis.round}:{number}"
            graph.add(Node(name, "gap", one_line(gap.question, _LABEL), one_line(gap.reason, _LABEL)))
            source = f"perspective:{gap.perspective}" if f"perspective:{gap.perspective}" in graph.nodes else QUESTION
            graph.join(Edge(source, name, "raises"))
            followed = (
                view for view in state.perspectives.values() if view.id.startswith("gap-") and gap.question in view.questions
            )
            graph.join(*(Edge(name, f"perspective:{view.id}", "led to") for view in followed))
        for search in analysis.looked_up:
            gap_name = f"gap:{analysis.round}:{search.gap}"
            graph.join(*(Edge(gap_name, f"fact:{fact.id}", "led to") for fact in search.facts))
    orphans = (name for name in list(graph.nodes) if name.startswith("perspective:gap-") and not graph.into(name, "led to"))
    graph.join(*(Edge(QUESTION, name, "asks") for name in orphans))


def _report(state: SessionState, graph: Graph) -> None:
    for sentence in sentences_of_report(state):
        section = f"section:{sentence.section}"
        graph.add(Node(section, "section", one_line(sentence.title, _LABEL)))
        graph.add(Node(sentence.id, "sentence", one_line(sentence.text, 2_000), "cut" if sentence.cut else ""))
        graph.join(Edge(section, sentence.id, "holds"))
        graph.join(*(Edge(sentence.id, f"fact:{name}", "cites") for name in sentence.facts))
        if sentence.cut:
            decision = f"decision:cut:{sentence.id}"
            graph.add(Node(decision, "decision", "The sentence was cut", one_line(sentence.cut, _LABEL)))
            graph.join(Edge(decision, sentence.id, "cuts"))


def _changes(state: SessionState, graph: Graph) -> None:
    """Add the facts of the earlier session that were superseded."""
    for change in state.changes.changed if state.changes else ():
        name = f"fact:{change.before.id}"
        graph.add(Node(name, "fact", one_line(change.before.quote, _LABEL), "superseded"))
        graph.join(Edge(f"fact:{change.after}", name, "supersedes"))


def _limits(state: SessionState, graph: Graph) -> None:
    """Add what was decided by circumstances: a budget that was spent, a model or a search that something else stood in for."""
    if state.exhausted:
        graph.add(Node("decision:budget", "decision", "The gathering was cut short", state.exhausted))
        graph.join(Edge("decision:budget", QUESTION, "cuts"))
    for step, why in sorted(state.without_model.items()):
        graph.add(Node(f"decision:without-model:{step}", "decision", f"{step} was done without the model", one_line(why, _LABEL)))
        graph.join(Edge(f"decision:without-model:{step}", QUESTION, "led to"))
    for query, done in sorted(state.searches.items()):
        for side in done.failed:
            name = f"decision:fallback:{search_id(query)}:{side.origin}"
            graph.add(Node(name, "decision", f"The search went on without {side.origin}", one_line(side.reason, _LABEL)))
            graph.join(Edge(name, search_id(query), "led to"))


def as_json(graph: Graph) -> str:
    """Return nodes and edges as JSON."""
    found = {"nodes": [asdict(node) for node in graph.nodes.values()], "edges": [asdict(edge) for edge in graph.edges.values()]}
    return json.dumps(found, ensure_ascii=False, indent=1)


_SUMMARY_TITLE = "In short"


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence with its section and the ids of the facts that it cites. ``cut`` is why it was cut, or ""."""

    section: str
    title: str
    text: str
    facts: tuple[str, ...]
    cut: str = ""

    @property
    def id(self) -> str:
        """The id of its node: the same text in the same section is one sentence."""
        return f"sentence:{digest_of(f'{self.section}|{self.text}'.encode())[:12]}"


def sentences_of_report(state: SessionState) -> list[WrittenSentence]:
    """Return the sentences of the report, the summary first, then those that were cut; before the report, those written."""
    kept = list(_reported(state) if state.report else _drafted(state))
    known = {(one.section, one.text) for one in kept}
    return kept + [one for one in _cut(state) if (one.section, one.text) not in known]


def _reported(state: SessionState) -> Iterator[WrittenSentence]:
    report = state.report
    assert report is not None  # noqa: S101 - the caller looked
    yield from (_written(SUMMARY, _SUMMARY_TITLE, one) for one in report.summary)
    for section in report.sections:
        yield from (_written(section.id, section.title, one) for one in _all(section.paragraphs))


def _drafted(state: SessionState) -> Iterator[WrittenSentence]:
    for kept in kept_text(state)[0]:
        title = _SUMMARY_TITLE if kept.id == SUMMARY else kept.title
        yield from (_written(kept.id, title, one) for one in _all(kept.paragraphs))
    for name, section in state.sections.items():
        unsupported = {verdict.sentence for verdict in section.unsupported()}
        for place, one in enumerate(_all(section.paragraphs or ())):
            if place not in unsupported:
                yield _written(name, _SUMMARY_TITLE if name == SUMMARY else section.plan.title, one)


def _cut(state: SessionState) -> Iterator[WrittenSentence]:
    """Yield the sentences that are not in the report; in older logs those that the last check of a section found unsupported."""
    for cut in state.report.cut_sentences if state.report else kept_text(state)[1]:
        yield WrittenSentence(
            cut.section, _SUMMARY_TITLE if cut.section == SUMMARY else cut.title, cut.text, cut.facts, cut.reason
        )
    for name, section in state.sections.items():
        sentences = list(_all(section.paragraphs or ()))
        for verdict in section.unsupported():
            if verdict.sentence < len(sentences):
                one = sentences[verdict.sentence]
                title = _SUMMARY_TITLE if name == SUMMARY else section.plan.title
                yield WrittenSentence(name, title, one.text, one.facts, verdict.reason or "its quotes do not support it")


def _all(paragraphs: Iterable[Paragraph]) -> Iterator[Sentence]:
    return (sentence for paragraph in paragraphs for sentence in paragraph.sentences)


def _written(section: str, title: str, one: Sentence) -> WrittenSentence:
    return WrittenSentence(section, title, one.text, one.facts)


_LEAST_LIKENESS = 0.2  # of the words asked for and a sentence's


@dataclass(frozen=True, slots=True)
class Origin:
    """One way to a page: the thought that searched, or None for the first search; the search, and the hit's place in it."""

    perspective: Node | None
    thought: Node | None
    search: Node
    rank: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact with its page and the ways to it. ``confirmed_by`` are facts of other sources, ``against`` those that contradict it.

    ``against`` holds pairs of the contradicting fact and the explanation.
    """

    fact: Fact
    standing: str
    page: Node | None
    origins: tuple[Origin, ...]
    confirmed_by: tuple[Fact, ...]
    against: tuple[tuple[Fact, str], ...]


@dataclass(frozen=True, slots=True)
class Why:
    """A sentence, or None for a fact that was named, and the evidence for it, in the order of its citations."""

    sentence: WrittenSentence | None
    evidence: tuple[Evidence, ...]


def why(state: SessionState, graph: Graph, words: str) -> Why | None:
    """Return the evidence for the fact of that id, or for the sentence nearest to ``words``; None if nothing is near."""
    facts = {fact.id: fact for fact in all_facts(state)}
    wanted = words.strip().removeprefix("fact:")
    if named := [name for name in facts if len(wanted) >= _SHORTEST_ID and name.startswith(wanted)]:
        return Why(None, tuple(_evidence(facts[name], facts, graph) for name in named[:1]))
    sentence = nearest_sentence(sentences_of_report(state), words)
    if sentence is None:
        return None
    return Why(sentence, tuple(_evidence(facts[name], facts, graph) for name in sentence.facts if name in facts))


_SHORTEST_ID = 4


def nearest_sentence(sentences: list[WrittenSentence], words: str) -> WrittenSentence | None:
    """Return the sentence that contains ``words``, or else shares most of its stems with them; the first of several."""
    plain = normalised(words).casefold()
    for one in sentences:
        if plain and plain in normalised(one.text).casefold():
            return one
    stems = content_stems(words)
    ranked = [(_likeness(stems, content_stems(one.text)), -place) for place, one in enumerate(sentences)]
    best = max(ranked, default=(0.0, 0))
    return sentences[-best[1]] if best[0] >= _LEAST_LIKENESS else None


def _likeness(asked: frozenset[str], said: frozenset[str]) -> float:
    """Return the larger of two measures: words in common, and the share of the words asked for, at half weight."""
    share = len(asked & said) / len(asked) if asked else 0.0
    return max(jaccard(asked, said), 0.5 * share)


def _evidence(fact: Fact, facts: dict[str, Fact], graph: Graph) -> Evidence:
    name = f"fact:{fact.id}"
    pages = [graph.nodes[edge.target] for edge in graph.out_of(name, "quotes")]
    support = [facts[edge.source.removeprefix("fact:")] for edge in graph.into(name, "supports")]
    return Evidence(
        fact,
        graph.nodes[name].note,
        pages[0] if pages else None,
        tuple(origin for page in pages for origin in _origins(page, graph)),
        tuple(support),
        tuple(_against(name, facts, graph)),
    )


def _origins(page: Node, graph: Graph) -> Iterator[Origin]:
    """Yield the ways to a page: those of workers in plan order, then the first search."""
    found = graph.into(page.id, "found")
    for edge in sorted(found, key=lambda edge: edge.source == "search:survey"):
        searches = graph.into(edge.source, "searched")
        yield from (_origin(edge, above, graph) for above in searches)


def _origin(found: Edge, searched: Edge, graph: Graph) -> Origin:
    thought = graph.nodes[searched.source]
    if thought.kind != "thought":
        return Origin(None, None, graph.nodes[found.source], found.rank)
    above = graph.into(thought.id, "asks")
    return Origin(graph.nodes[above[0].source] if above else None, thought, graph.nodes[found.source], found.rank)


def _against(name: str, facts: dict[str, Fact], graph: Graph) -> Iterator[tuple[Fact, str]]:
    for edge in graph.into(name, "contradicts"):
        for other in graph.out_of(edge.source, "contradicts"):
            if other.target != name and (fact := facts.get(other.target.removeprefix("fact:"))):
                yield fact, graph.nodes[edge.source].label


def value_of(found: Why) -> dict[str, Any]:
    """Return a sentence and its evidence as one JSON value."""
    sentence = found.sentence
    named = {"text": sentence.text, "section": sentence.section, "cut": sentence.cut} if sentence else None
    return {"sentence": named, "evidence": [_evidence_value(one) for one in found.evidence]}


def _evidence_value(one: Evidence) -> dict[str, Any]:
    return {
        "fact": one.fact.model_dump(),
        "standing": one.standing,
        "origins": [
            {
                "search": origin.search.label,
                "rank": origin.rank,
                "thought": origin.thought.label if origin.thought else "",
                "perspective": origin.perspective.label if origin.perspective else "",
            }
            for origin in one.origins
        ],
        "confirmed_by": [fact.id for fact in one.confirmed_by],
        "against": [{"fact": fact.id, "quote": fact.quote, "explanation": explanation} for fact, explanation in one.against],
    }
