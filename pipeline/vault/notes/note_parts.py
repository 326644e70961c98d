"""Parts that several kinds of notes use: links, cited sentences, disagreements, open questions, properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pipeline.domain.findings import by_model, sheet_of
from pipeline.domain.state import Report, SessionState, Worker, outcome_of
from pipeline.domain.values import BlockForm, Contradiction, Fact, Gap, Paragraph, Perspective, Sentence
from pipeline.text import labels
from pipeline.text.normalise import name_slug, one_line
from pipeline.text.ranking.rank_fusion import Origin, page_origin
from pipeline.text.words import language_code
from pipeline.vault import paths
from pipeline.vault.mornings.learnt import CitedText
from pipeline.vault.output import formatting
from pipeline.vault.output.escaping import Inert, Link, address, fenced, host_of, inert, plain
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.note import OWN_CLASS, Kind
from pipeline.vault.output.page_markdown import Passage, flat
from pipeline.vault.output.prose import prose
from pipeline.vault.session_card import Card
from pipeline.vault.vault_model import LoadedSession, SourceNotePlace, VaultModel

_KINDS_OF_CONTRADICTION = {
    "number": "They give different numbers.",
    "date": "They give different dates.",
    "version": "They speak of different versions.",
    "polarity": "One affirms what the other denies.",
    "claim": "Both cannot be right.",
}
_PLACE = 60  # characters of a further place's quote
_ENOUGH = "knows enough"  # as the log says that a worker needed no further round
_MOST_HEADINGS = 4  # of a passage's place


def shown_status(state: SessionState) -> str:
    """Return a session's status as notes show it: its outcome, or how it ended without one, or ``unfinished``."""
    return outcome_of(state) or (state.status if state.ended else "unfinished")


def reasoner_words(state: SessionState, language: str = labels.ENGLISH) -> str:
    """Return who answered the questions: ``without a model``, or a model's name."""
    return state.config.reasoner if by_model(state) else labels.label("without a model", language)


@dataclass(frozen=True, slots=True)
class Cited:
    """One sentence and its citations, each a link to the quote that supports it; also a step, an item, a row, or code.

    ``derived``: it follows from its quotes together. A row has ``cells``; code has its ``lines``, fence included. ``standing`` is
    ``disputed`` where another source denies it, else "". What begins an item of a list has its ``number``; ``nested``: of a list
    inside one.
    """

    text: str
    citations: tuple[Link, ...] = ()
    derived: bool = False
    cells: tuple[Inert, ...] = ()
    cell_marks: tuple[tuple[Link, ...], ...] = ()
    lines: tuple[Inert, ...] = ()
    standing: str = ""
    number: int = 0
    nested: bool = False

    @property
    def is_passage(self) -> bool:
        """False: it is not a whole passage."""
        return False


Said = Cited | Passage


class Block(tuple[Said, ...]):
    """A block of a report: its sentences, items, rows or passages, in a ``form``; a table has the names of its columns."""

    form: BlockForm
    header: tuple[Inert, ...]

    def __new__(cls, said: Iterable[Said] = (), form: BlockForm = "paragraph", header: tuple[Inert, ...] = ()) -> Block:
        """Return a block; a template that knows no forms can read it as a list of sentences."""
        made = super().__new__(cls, said)
        made.form, made.header = form, header
        return made


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a disagreement: what the source says, the links to source and quote, and whose page it is."""

    quote: str
    source: Link
    citation: Link
    origin: Origin


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources that cannot both be right. ``kind`` says in a sentence how they differ."""

    subject: str
    kind: str
    explanation: str
    a: Side
    b: Side


@dataclass(frozen=True, slots=True)
class Open:
    """Questions without a good answer that are open for the same reason (which may be "")."""

    reason: str
    questions: tuple[str, ...]


def open_questions(gaps: Iterable[Gap]) -> tuple[Open, ...]:
    """Return the gaps' questions by reason, in the order in which the reasons come up."""
    reasons: dict[str, list[str]] = {}
    for gap in gaps:
        reasons.setdefault(gap.reason, []).append(gap.question)
    return tuple(Open(reason, tuple(questions)) for reason, questions in reasons.items())


def report_link(session: Card) -> Link | None:
    """Return the link to a session's report, None without one."""
    return Link(session.report_path, session.report_title) if session.report_path else None


def session_link(session: Card, words: str = "") -> Link:
    """Return the link to a session's note, shown as ``words`` or as the question."""
    return Link(session.session_path, words or session.query)


def best_link(session: Card) -> Link:
    """Return the link to the report, or to the session's note while there is none."""
    return report_link(session) or session_link(session)


def worker_link(session: Card, worker_id: str) -> Link:
    """Return the link to a worker's note, shown as its perspective."""
    worker = session.worker(worker_id)
    return Link(worker.path, worker.name, worker.block)


def worker_outcome(state: SessionState, worker: Worker) -> str:
    """Return in a few words how a worker ended."""
    if worker.status == "running":
        return "stopped with the session" if state.ended else "under way"
    if worker.status == "failed":
        return f"given up: {worker.reason}"
    if not by_model(state):
        return "read what was found"
    if worker.reason == _ENOUGH:
        return "found what it looked for"
    rounds = worker.reason.removesuffix("s").removesuffix(" iteration")
    return f"stopped after {labels.count(int(rounds), 'round')}" if rounds.isdigit() else worker.reason


def perspective_name(view: Perspective) -> str:
    """Return a perspective's name; a gap's is its question, and that it is a gap is said beside it."""
    return view.name.removeprefix("Gap: ")


def session_language(loaded: LoadedSession) -> str:
    """Return the code of the question's language, else of that of its quotes."""
    state = loaded.state
    return language_code(state.query, *(fact.quote for fact in state.facts.values()))


def night_link(date: str, language: str = labels.ENGLISH) -> Link:
    """Return the link to a night's note, shown as its day."""
    return Link(night_path(date), labels.day(date, language))


def night_path(date: str) -> str:
    """Return the path of a night's note."""
    return f"nights/{date}"


def night_links(model: VaultModel, session: Card, language: str = labels.ENGLISH) -> tuple[Link, ...]:
    """Return the links to the nights that worked on a session."""
    return tuple(night_link(date, language) for date in model.nights_of.get(session.id, ()))


def last_night(model: VaultModel, loaded: LoadedSession) -> str:
    """Return the link to the latest night that worked on a session as a property's text, "" for none."""
    return linked(next(reversed(night_links(model, loaded.card, session_language(loaded))), None))


@lru_cache(maxsize=4_096)  # tags are few, and every session's notes name some
def topic_of(tag: str) -> str:
    """Return the topic that a tag stands for, as a slug."""
    return name_slug(tag)


def topic_path(topic: str) -> str:
    """Return the path of the note of a topic, given by its slug."""
    return f"topics/topic-{topic}"


def topic_link(tag: str) -> Link:
    """Return the link to the note of a tag's topic."""
    return Link(topic_path(topic_of(tag)), tag)


def topic_links(tags: Iterable[str]) -> tuple[Link, ...]:
    """Return the links to the topics of a query's tags, each topic once."""
    return tuple({topic_of(tag): topic_link(tag) for tag in tags}.values())


def source_link(source: SourceNotePlace, words: str = "") -> Link:
    """Return the link to a source's note, shown as ``words`` or as its title."""
    return Link(source.path, words or source.title)


def page_place(model: VaultModel, loaded: LoadedSession, url: str) -> Link | Inert:
    """Return the link to the note of a page that a session read; to the page itself if its result does not lead to it.

    The session alone decides, so that its notes stay as they are when another session finds the page worth a note.
    """
    return source_link(model.sources[url]) if url in loaded.shown_sources else without_note(url, model.sources[url].title)


def without_note(url: str, title: str, language: str = labels.ENGLISH) -> Inert:
    """Return a source without a note: a link to a web page, the path of a document."""
    return address(url, title) if host_of(url) else inert(f"{title} ({address_words(url, language)})")


def quote_link(source: SourceNotePlace, fact_id: str, words: str = "") -> Link:
    """Return the link to one quote in a source's note."""
    return Link(source.path, words or source.title, paths.block_id(fact_id))


def address_words(url: str, language: str = labels.ENGLISH) -> str:
    """Return a source's place in words: its host, or its path in the user's documents."""
    if host := host_of(url):
        return host
    scheme, _, rest = url.partition(":")
    return labels.label("{path} in your documents", language, path=rest) if scheme == "corpus" and rest else url


def cited(model: VaultModel, sentence: CitedText) -> Cited:
    """Return a card's sentence with its citations as links."""
    links = (quote_link(model.sources[cite.url], cite.fact, cite.sign) for cite in sentence.cites)
    return Cited(prose(sentence.text) if sentence.prose else sentence.text, tuple(links))


class Citer:
    """Turns the facts that support sentences into numbered links.

    The words of such a link are superscript digits. The words of a wikilink cannot contain a bracket, brackets around one
    read as a third bracket, and an HTML ``<sup>`` keeps Obsidian from making the link; superscript digits are
    plain text to every reader, in running text, in tables and in properties alike.
    """

    def __init__(self, model: VaultModel, loaded: LoadedSession) -> None:
        self._model, self._loaded, self._language = model, loaded, session_language(loaded)
        self._numbers = _numbers(loaded.state.report) if loaded.state.report else {}

    def paragraphs(self, paragraphs: tuple[Paragraph, ...]) -> tuple[Block, ...]:
        """Return the paragraphs' sentences, or their passages, with their citations."""
        found: list[Block] = []
        before = ""
        for paragraph in paragraphs:
            if paragraph.kind == "passages":
                found.append(Block(self.passages(paragraph.sentences, before)))
                before = self._url(paragraph.sentences[-1]) if paragraph.sentences else before
            else:
                found.append(self._block(paragraph))
                before = ""
        return tuple(found)

    def _block(self, paragraph: Paragraph) -> Block:
        said = tuple(self.sentence(sentence, is_code=paragraph.form == "code") for sentence in paragraph.sentences)
        width = max((len(one.cells) for one in said), default=0)
        if paragraph.form != "table" or not width:
            form: BlockForm = "bullets" if paragraph.form == "table" else paragraph.form
            if form in ("steps", "bullets"):
                said = _numbered(said, [one.within for one in paragraph.sentences], paragraph.start)
            return Block(said, form)
        named = tuple(prose(name, cell=True) for name in paragraph.header[:width])
        rows = tuple(replace(one, cells=_filled(one.cells or (prose(one.text, cell=True),), width)) for one in said)
        return Block(rows, "table", _filled(named, width))

    def passages(self, sentences: Iterable[Sentence], before: str = "") -> tuple[Said, ...]:
        """Return passages, each with its own headings; ``before`` is the address of the source of the passage above them."""
        found = []
        for sentence in sentences:
            found.append(self._passage(sentence, before))
            before = self._url(sentence)
        return tuple(found)

    def _url(self, sentence: Sentence) -> str:
        fact = self._loaded.state.facts.get(next(iter(sentence.facts), ""))
        return fact.url if fact else ""

    def _passage(self, sentence: Sentence, before: str) -> Said:
        fact = self._loaded.state.facts.get(next(iter(sentence.facts), ""))
        if fact is None:
            return self.sentence(sentence)
        mine = self._number(fact.id)
        others = {self._number(name): name for name in reversed(sentence.facts[1:]) if name in self._loaded.state.facts}
        also = tuple(self.citation(others[number]) for number in sorted(others) if number not in (0, mine))
        mark = (self.citation(fact.id),) if mine else ()
        place = self._place(fact, titled=fact.url != before)
        page = self._loaded.state.pages.get(fact.url)
        date = one_line(page.published, 40) if page else ""
        return Passage(
            sentence.text, mark, fact.lead, place, also, self._standing(sentence.facts), date, self._loaded.rated.get(fact.id, "")
        )

    def _place(self, fact: Fact, *, titled: bool) -> Link:
        """The link to a quote, shown as its page's title and the headings above it; ``titled`` False: without the title."""
        return quote_link(self._model.sources[fact.url], fact.id, self._trail(fact, titled=titled))

    def _trail(self, fact: Fact, *, titled: bool) -> str:
        trail = tuple(dict.fromkeys(fact.path or filter(None, (self._model.sources[fact.url].title, fact.heading))))
        shown = trail if titled or len(trail) < 2 else trail[1:]
        sheet = sheet_of(self._loaded.state, fact)
        names = [one_line(name, 70) for name in shown[-_MOST_HEADINGS:]]
        names += [labels.label("page {number}", self._language, number=str(sheet))] if sheet else []
        return " › ".join(names)

    def places(self, facts: Iterable[Fact]) -> tuple[Link | Inert, ...]:
        """Return where facts stand that a report does not show: page, headings, and how the quote begins; each place once."""
        trails = {(fact.url, self._trail(fact, titled=True)): one_line(flat(fact.quote), _PLACE) for fact in reversed([*facts])}
        found = [(url, f"{trail}: “{begins}”") for (url, trail), begins in reversed(trails.items())]
        shown = self._loaded.shown_sources
        return tuple(
            source_link(self._model.sources[url], words) if url in shown else without_note(url, words, self._language)
            for url, words in found
        )

    def nearest(self, facts: Iterable[Fact]) -> tuple[Said, ...]:
        """Return the facts nearest to an answer as passages without a number."""
        return self.passages(Sentence(text=fact.quote, facts=(fact.id,)) for fact in facts)

    def sentence(self, sentence: Sentence, *, is_code: bool = False) -> Cited:
        """Return a sentence with one citation for each fact; several quotes of one source are told apart by letters."""
        known = [name for name in dict.fromkeys(sentence.facts) if name in self._loaded.state.facts]
        numbers = [self._number(name) for name in known]
        places = [numbers[:place].count(number) if numbers.count(number) > 1 else -1 for place, number in enumerate(numbers)]
        marks = dict(zip(known, map(self.citation, known, places), strict=True))
        return Cited(
            prose(sentence.text),
            tuple(marks.values()),
            sentence.basis == "derived",
            tuple(prose(cell, cell=True) for cell in sentence.cells),
            tuple(tuple(marks[name] for name in cited if name in marks) for cited in sentence.cell_facts),
            tuple(fenced(sentence.text)) if is_code else (),
            self._standing(known) or _unsourced(sentence),
        )

    def _standing(self, facts: Iterable[str]) -> str:
        """``disputed`` if another source denies one of these facts, else ""."""
        entries = (self._loaded.standings.get(name) for name in facts)
        return "disputed" if any(entry and entry.standing == "disputed" for entry in entries) else ""

    def citation(self, fact_id: str, place: int = -1) -> Link:
        """Return the link to a fact's quote, shown as its source's number in the report; if it is not cited, as its title."""
        source, number = self._model.sources[self._loaded.state.facts[fact_id].url], self._number(fact_id)
        return quote_link(source, fact_id, formatting.superscript(number, place) if number else "")

    def _number(self, fact_id: str) -> int:
        return self._numbers.get(self._loaded.state.facts[fact_id].url, 0)

    def disagreements(self, pairs: tuple[Contradiction, ...]) -> tuple[Disagreement, ...]:
        """Return both sides of each pair whose facts are known."""
        facts = self._loaded.state.facts
        return tuple(self._disagreement(pair) for pair in pairs if pair.a in facts and pair.b in facts)

    def _disagreement(self, pair: Contradiction) -> Disagreement:
        kind = _KINDS_OF_CONTRADICTION[pair.kind]
        return Disagreement(pair.subject, kind, pair.explanation, self._side(pair.a), self._side(pair.b))

    def _side(self, fact_id: str) -> Side:
        fact = self._loaded.state.facts[fact_id]
        source = self._model.sources[fact.url]
        return Side(flat(fact.quote), source_link(source), self.citation(fact_id), page_origin(fact.url))


_UNSOURCED = {"bridge": "no source", "beyond": "from the model's general knowledge"}


def _unsourced(sentence: Sentence) -> str:
    """Return what is said behind a sentence that cites nothing; "" for a label or what leads to the next lines."""
    said = sentence.text.strip()
    is_label = said.endswith((":", "：", ":**")) or (said.startswith("**") and said.find("**", 2) == len(said) - 2)
    return "" if is_label else _UNSOURCED.get(sentence.basis, "")


def _numbered(said: Sequence[Cited], within: Sequence[str], start: int) -> tuple[Cited, ...]:
    """Return the sentences of a list, each with what stands before it: an item's mark, that of one inside it, or nothing."""
    number = start - 1
    marked = []
    for one, place in zip(said, within, strict=True):
        number += place == ""
        marked.append(replace(one, number=number if place == "" else 0, nested=place == "list"))
    return tuple(marked)


def _filled(cells: tuple[Inert, ...], width: int) -> tuple[Inert, ...]:
    return (*cells, *[Inert("")] * (width - len(cells)))


def _numbers(report: Report) -> dict[str, int]:
    return {reference.url: reference.number for reference in report.references}


def properties_of(
    kind: Kind,
    title: str,
    own: Mapping[str, Property],
    *,
    status: str = "",
    topics: tuple[str, ...] = (),
    created: str = "",
    language: str = labels.ENGLISH,
) -> dict[str, Property]:
    """Return a note's properties in their fixed order: the common ones, then ``own``; ``language`` is a code."""
    shown = plain(title)
    tags = [f"research/{kind}", *([f"status/{status}"] if status else []), *(f"topic/{topic_of(topic)}" for topic in topics)]
    properties: dict[str, Property] = {
        "title": shown,
        "kind": kind,
        "aliases": (shown,),
        "tags": tuple(dict.fromkeys(tags)),
        "cssclasses": (OWN_CLASS, f"{OWN_CLASS}-{kind}"),
    }
    if created:
        properties["created"] = formatting.moment(created)
    if status:
        properties["status"] = status
    if language != labels.ENGLISH:
        properties["lang"] = language
    return properties | dict(own)


def archived(model: VaultModel, loaded: LoadedSession) -> dict[str, Property]:
    """Return ``archived`` for a session whose query is no longer in the queue; no property for others."""
    return {"archived": True} if loaded.state.query_id in model.archived else {}


def linked(link: Link | None) -> str:
    """Return a link as a property's text, "" for none."""
    return str(link.inline) if link else ""


def present(properties: Mapping[str, Property]) -> dict[str, Property]:
    """Return the properties without empty texts and empty lists."""
    return {name: value for name, value in properties.items() if value not in ("", ())}


def heading(text: str, limit: int = 120) -> str:
    """Return ``text`` on one line as a note's heading."""
    return one_line(text, limit) or "Untitled"
