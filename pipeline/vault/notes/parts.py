"""Parts that several kinds of notes use: links, cited sentences, disagreements, open questions, what was asked, properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pipeline.domain.page_choice_and_findings import sheet_of
from pipeline.domain.research_values import EXTRACTIVE, BlockForm, Contradiction, Fact, Paragraph, Perspective, Sentence
from pipeline.domain.session import counts_of, models_of
from pipeline.domain.session_state import SessionState, outcome_of
from pipeline.domain.summary import status_words
from pipeline.domain.talk import Turn
from pipeline.text import translations
from pipeline.text.addresses import DOCUMENTS, path_of
from pipeline.text.cleaning import name_slug, one_line, slug
from pipeline.text.humanize import bill
from pipeline.text.ranking import page_origin
from pipeline.text.times import moment_of
from pipeline.vault.note import OWN_CLASS, Kind, View, block_id
from pipeline.vault.output.escaping import Inert, Link, address, before_space, fenced, inert, linked_host, plain, superscript
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.passage_markdown import flat, prose
from pipeline.vault.read_model import LONGEST_ANSWER, Card, LoadedSession, VaultModel, signs

Own = Mapping[str, Property | Link | None]  # the properties of one kind of notes
_UNSOURCED = {"bridge": "no source", "beyond": "from the model's general knowledge"}
_MOST_HEADINGS = 4  # of a passage's place


def shown_status(state: SessionState) -> str:
    """Return a session's status as notes show it: its outcome, or how it ended without one, or ``unfinished``."""
    return outcome_of(state) or (state.status if state.ended else "unfinished")


def session_view(loaded: LoadedSession) -> View:
    """Return what a session's own note and its report show alike: how it ended, what it found, who answered, what it cost."""
    state, spent, counts = loaded.state, loaded.card, counts_of(loaded.state)
    reasoner, language = state.config.reasoner, loaded.language
    return {
        "query_id": state.query_id,
        "status": shown_status(state),
        "outcome": status_words(shown_status(state)),
        "reason": state.end_reason,
        "topics": topic_links(state.tags),
        **{name: counts[name] for name in ("searches", "pages", "facts")},
        "reasoner": reasoner if state.config.has_model else translations.label("without a model", language),
        "models": tuple(name for name in models_of(loaded.events) if name not in (reasoner, EXTRACTIVE)),
        "search": state.config.search,
        "seconds": spent.seconds,
        "cost": bill(spent.charged_usd, spent.assumed_usd, spent.expected_usd),
    }


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence and its citations, each a link to the quote that supports it; also a step, an item, a row, code, or a passage.

    ``derived``: it follows from its quotes together. A row has ``cells``; code has its ``lines``, fence included. ``standing`` is
    ``disputed quote`` where another source denies one that it cites; ``denied`` are those citations, if not all. What begins an
    item of a list has its ``number``; ``nested``: of a list inside one.

    A passage, by which templates distinguish it (``is_passage``), is a whole stretch of a source with one citation or none.
    ``lead`` is what it leans on ("" for nothing), ``place`` leads to the quote in the source's note and names the headings above
    it; ``also`` are the numbers of other sources that say the same; ``date`` as the page says it, ``rating`` useful, wrong or "".
    """

    text: str
    citations: tuple[Link, ...] = ()
    standing: str = ""
    derived: bool = False
    cells: tuple[Inert, ...] = ()
    cell_marks: tuple[tuple[Link, ...], ...] = ()
    lines: tuple[Inert, ...] = ()
    number: int = 0
    nested: bool = False
    denied: tuple[Link, ...] = ()
    is_passage: bool = False
    lead: str = ""
    place: Link | None = None
    also: tuple[Link, ...] = ()
    date: str = ""
    rating: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a report: its sentences, items, rows or passages, in a ``form``; a table has the names of its columns.

    ``inside``: it is code, a paragraph or a list that belongs to the step before it.
    """

    said: tuple[Said, ...]
    form: BlockForm = "paragraph"
    header: tuple[Inert, ...] = ()
    inside: bool = False

    def __iter__(self) -> Iterator[Said]:
        """Iterate over what it says; a template that knows no forms can read it as a list of sentences."""
        return iter(self.said)


def report_link(session: Card) -> Link | None:
    """Return the link to a session's report, shown as the question, as it was asked; None without one."""
    words = f"{session.query} (you called it wrong)" if session.rating == "wrong" else session.query
    return Link(session.report_path, words) if session.report_path else None


def session_link(session: Card, words: str = "") -> Link:
    """Return the link to a session's note, shown as ``words`` or as the question."""
    return Link(session.session_path, words or session.query)


def best_link(session: Card) -> Link:
    """Return the link to the report, or to the session's note while there is none."""
    return report_link(session) or session_link(session)


def worker_link(loaded: LoadedSession, worker: str) -> Link:
    """Return the link to what is shown of a worker, with the words of its perspective."""
    name, path = perspective_name(loaded.state.perspectives[loaded.state.workers[worker].perspective_id]), loaded.card.workers
    return Link(path[worker], name) if path else Link(loaded.card.session_path, name, folded_block(worker))


def folded_block(worker: str) -> str:
    """Return the block id of a worker that the session's note shows."""
    return f"w-{slug(worker)}"


def perspective_name(view: Perspective) -> str:
    """Return a perspective's name; a gap's is its question, and that it is a gap is said beside it."""
    return view.name.removeprefix("Gap: ")


def topic_path(topic: str) -> str:
    """Return the path of the note of a topic, given by the slug of its tag."""
    return f"topics/topic-{topic}"


def topic_links(tags: Iterable[str]) -> tuple[Link, ...]:
    """Return the links to the topics of tags, each topic once."""
    return tuple({name_slug(tag): Link(topic_path(name_slug(tag)), tag) for tag in tags}.values())


def page_place(loaded: LoadedSession, url: str, words: str = "", block: str = "") -> Link | Inert:
    """Return the link to the note of a page that a session read; to the page itself if its result does not lead to it.

    The session alone decides, so that its notes stay as they are when another session finds the page worth a note.
    """
    source = loaded.beside.sources[url]
    shown = words or source.label
    return Link(source.path, shown, block) if url in loaded.shown_sources else place_of(url, shown, loaded.language)


def place_of(url: str, title: str = "", language: str = translations.ENGLISH) -> Inert:
    """Return a source without a note: a link to a web page, the path of a document; with its ``title`` or its address alone."""
    if linked_host(url):
        return address(url, title)
    words = address_words(url, language)
    return inert(f"{title} ({words})" if title else words)


def quote_link(source: Link, fact_id: str, words: str = "") -> Link:
    """Return the link to one quote in a source's note."""
    return Link(source.path, words or source.label, block_id(fact_id))


def address_words(url: str, language: str = translations.ENGLISH) -> str:
    """Return a source's place in words: its host, or its path in the user's documents."""
    if host := linked_host(url):
        return host
    return translations.label("{path} in your documents", language, path=path_of(url)) if url.startswith(DOCUMENTS) else url


def answer_of(model: VaultModel, card: Card, longest: int) -> Said | None:
    """Return a card's answer in at most ``longest`` characters, with its citations as links; None without one."""
    if card.answer is None:
        return None
    by_id = {fact.id: fact for reading in card.read for fact in reading.facts}
    facts, text = [by_id[name] for name in card.answer.facts], one_line(card.answer.text, longest)
    cites = zip(facts, signs(facts, {reading.page.url: reading.number for reading in card.read}), strict=True)
    links = (quote_link(model.sources[fact.url], fact.id, sign) for fact, sign in cites)
    return Said(text if card.outcome == "passages" else prose(text), tuple(links))


def asked_rows(model: VaultModel, turns: Iterable[Turn], noted: Iterable[str]) -> Iterator[View]:
    """Yield what was asked as notes show it, each with the first sentence or passage of its answer and the sources of that one.

    ``noted`` are the addresses of the sources that have a note.
    """
    for turn in turns:
        said, nearest = (turn.answer.sentences, turn.answer.nearest) if turn.answer else ((), ())
        shown = {name for sentence in (*said, *nearest)[:1] for name in sentence.facts}
        urls = dict.fromkeys(fact.url for fact in turn.facts() if fact.id in shown)
        yield {
            "question": one_line(turn.text, 500),
            "outcome": turn.answer.outcome if turn.answer else None,
            "answer": one_line(flat(said[0].text), LONGEST_ANSWER) if said else "",
            "nearest": one_line(flat(nearest[0].text), LONGEST_ANSWER) if nearest else "",
            "at": turn.at,
            "sources": tuple(model.sources[url] if url in noted else place_of(url) for url in urls),
        }


class Citer:
    """Turns the facts that support sentences into numbered links.

    The words of such a link are superscript digits. The words of a wikilink cannot contain a bracket, brackets around one
    read as a third bracket, and an HTML ``<sup>`` keeps Obsidian from making the link; superscript digits are
    plain text to every reader, in running text, in tables and in properties alike. ``numbers`` are those that the report gives
    to its sources, by address.
    """

    def __init__(self, loaded: LoadedSession) -> None:
        self._sources, self._loaded, self._language = loaded.beside.sources, loaded, loaded.language
        self._state, report = loaded.state, loaded.state.report
        self.numbers = {reference.url: reference.number for reference in report.references} if report else {}

    def paragraphs(self, paragraphs: tuple[Paragraph, ...]) -> tuple[Block, ...]:
        """Return the paragraphs' sentences, or their passages, with their citations; of a report, section after section.

        Code does not repeat what the sentence before it cites. Of a sentence without evidence before code or a table it is not
        said that it has none: they have it.
        """
        found: list[Block] = []
        going_on = [place for place, one in enumerate(paragraphs) if one.form in ("steps", "bullets") and one.start > 1]
        for place, paragraph in enumerate(paragraphs):
            if paragraph.kind == "passages":
                found.append(Block(tuple(self.passages(paragraph.sentences))))
                continue
            is_code = paragraph.form == "code"
            said = [self.sentence(sentence, is_code=is_code) for sentence in paragraph.sentences]
            introduces = any(one.form in ("code", "table") for one in paragraphs[place + 1 : place + 2])
            if introduces and said and paragraph.sentences[-1].basis == "bridge":
                said[-1] = replace(said[-1], standing="")
            before = paragraphs[place - 1].sentences[-1:] if place and is_code else ()
            if before and all(
                one.basis in ("quoted", before[0].basis) and {*one.facts} <= {*before[0].facts} for one in paragraph.sentences
            ):
                said = [replace(one, citations=(), derived=False) for one in said]
            follows = bool(found) and (found[-1].inside or found[-1].form == "steps" or (is_code and found[-1].form == "bullets"))
            is_between = paragraph.form in ("paragraph", "bullets") and any(place <= later for later in going_on)
            block = self._block(paragraph, said)
            found.append(replace(block, inside=follows and (is_code or is_between)))
        return tuple(found)

    def _block(self, paragraph: Paragraph, said: list[Said]) -> Block:
        """A paragraph as a block; in a list, those that go on with the same citations show them once, at the end.

        What begins an item has its number.
        """
        width = max((len(one.cells) for one in said), default=0)
        if paragraph.form == "table" and width:
            header = [prose(name, cell=True) for name in paragraph.header[:width]]
            rows = (one if one.cells else replace(one, cells=(prose(one.text, cell=True),)) for one in said)
            return Block(tuple(rows), "table", (*header, *[Inert("")] * (width - len(header))))
        form: BlockForm = "bullets" if paragraph.form == "table" else paragraph.form
        if form not in ("steps", "bullets"):
            return Block(tuple(said), form)
        number, items = paragraph.start - 1, []
        for one, own, after in zip(said, paragraph.sentences, (*paragraph.sentences[1:], Sentence(text="")), strict=True):
            begins = own.within == ""
            number += begins
            again = after.within == "item" and (after.facts, after.basis) == (own.facts, own.basis)
            shown = replace(one, citations=(), derived=False) if again else one
            items.append(replace(shown, number=number if begins else 0, nested=own.within == "list"))
        return Block(tuple(items), form)

    def passages(self, sentences: Iterable[Sentence]) -> Iterator[Said]:
        """Yield passages, each with the title and headings that it is under."""
        for sentence in sentences:
            fact = self._state.facts.get(next(iter(sentence.facts), ""))
            if fact is None:
                yield self.sentence(sentence)
                continue
            mine, page = self.numbers.get(fact.url, 0), self._state.pages.get(fact.url)
            known = [self._state.facts[name] for name in reversed(sentence.facts[1:]) if name in self._state.facts]
            others = {self.numbers.get(other.url, 0): other.id for other in known}
            yield Said(
                sentence.text,
                (self.citation(fact.id),) if mine else (),
                "disputed" if self._loaded.is_disputed(sentence.facts) else "",
                is_passage=True,
                lead=fact.lead,
                place=quote_link(self._sources[fact.url], fact.id, self._trail(fact)),
                also=tuple(self.citation(others[number]) for number in sorted(others) if number not in (0, mine)),
                date=one_line(page.published, 40) if page else "",
                rating=self._loaded.beside.rated.get(fact.id, ""),
            )

    def _trail(self, fact: Fact) -> str:
        """Where a quote is: its page's title, the headings above it, the page of a PDF."""
        trail = tuple(dict.fromkeys(fact.path or filter(None, (self._sources[fact.url].label, fact.heading))))
        sheet = sheet_of(self._state.pages[fact.url], fact)
        names = [one_line(name, 70) for name in trail[-_MOST_HEADINGS:]]
        names += [translations.label("page {number}", self._language, number=str(sheet))] if sheet else []
        return " › ".join(names)

    def quotes(self, facts: Iterable[Fact]) -> Iterator[View]:
        """Yield quotes on a line each, with links to where they stand: in the note of their source, if that has them."""
        for fact in facts:
            block = block_id(fact.id) if fact.id in self._state.facts else ""
            yield {"text": flat(fact.quote), "place": page_place(self._loaded, fact.url, self._trail(fact), block)}

    def sentence(self, sentence: Sentence, *, is_code: bool = False) -> Said:
        """Return a sentence with one citation for each fact; several quotes of one source are told apart by letters."""
        known = [name for name in dict.fromkeys(sentence.facts) if name in self._state.facts]
        facts = [self._state.facts[name] for name in known]
        cites = zip(facts, signs(facts, self.numbers), strict=True)
        marks = {fact.id: quote_link(self._sources[fact.url], fact.id, sign) for fact, sign in cites}
        said, denied = sentence.text.strip(), [name for name in known if self._loaded.is_disputed([name])]
        is_label = said.endswith((":", "：", ":**")) or (said.startswith("**") and said.find("**", 2) == len(said) - 2)
        return Said(
            before_space(prose(sentence.text)),  # a citation, white space or the line's end follows
            tuple(marks.values()),
            "disputed quote" if denied else "" if is_label else _UNSOURCED.get(sentence.basis, ""),
            sentence.basis == "derived",
            tuple(prose(cell, cell=True) for cell in sentence.cells),
            tuple(tuple(marks[name] for name in cited if name in marks) for cited in sentence.cell_facts),
            tuple(fenced(sentence.text)) if is_code else (),
            denied=tuple(marks[name] for name in denied if denied != known),
        )

    def citation(self, fact_id: str) -> Link:
        """Return the link to a fact's quote, shown as its source's number in the report; if it is not cited, as its title."""
        url = self._state.facts[fact_id].url
        number = self.numbers.get(url, 0)
        return quote_link(self._sources[url], fact_id, superscript(number) if number else "")

    def disagreements(self, pairs: Iterable[Contradiction]) -> list[View]:
        """Return both sides of each pair whose facts are known: what the source says, links to source and quote, whose it is."""

        def side(name: str) -> View:
            fact = self._state.facts[name]
            source = self._sources[fact.url]
            return {"quote": flat(fact.quote), "source": source, "citation": self.citation(name), "origin": page_origin(fact.url)}

        return [
            {"subject": one.subject, "explanation": one.explanation, "a": side(one.a), "b": side(one.b)}
            for one in pairs
            if {one.a, one.b} <= self._state.facts.keys()
        ]


def properties_of(
    kind: Kind,
    title: str,
    own: Own,
    *,
    status: str = "",
    topics: tuple[str, ...] = (),
    created: str = "",
    language: str = translations.ENGLISH,
) -> dict[str, Property]:
    """Return a note's properties in their fixed order: the common ones, then ``own``; without None, empty texts and lists."""
    shown = plain(title)
    tags = [f"research/{kind}", *([f"status/{status}"] if status else []), *(f"topic/{name_slug(topic)}" for topic in topics)]
    properties: dict[str, Property | Link | None] = {
        "title": shown,
        "kind": kind,
        "aliases": (shown,),
        "tags": tuple(dict.fromkeys(tags)),
        "cssclasses": (OWN_CLASS, f"{OWN_CLASS}-{kind}"),
        "created": moment_of(created).replace(microsecond=0, tzinfo=None) if created else "",  # in UTC
        "status": status,
        "lang": language if language != translations.ENGLISH else "",
        **own,
    }
    written = {name: str(value.inline) if isinstance(value, Link) else value for name, value in properties.items()}
    return {name: value for name, value in written.items() if value is not None and value not in ("", ())}


def session_properties(
    loaded: LoadedSession, kind: Kind, title: str, own: Own, created: str, status: str = ""
) -> dict[str, Property]:
    """Return the properties of one of a session's notes: in its language, with its topics; its own status if none is given."""
    state = loaded.state
    shown = status or shown_status(state)
    return properties_of(kind, title, own, status=shown, topics=state.tags, created=created, language=loaded.language)
