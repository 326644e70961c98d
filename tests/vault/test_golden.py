"""A vault and its site in which each kind of note and page, and each form of a report, is shown; ``golden/`` holds them whole.

What changes in a note or a page, changes there too: read it before you take it over by ``python -m tests.vault.test_golden``.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from operator import attrgetter
from pathlib import Path
from typing import Any

from pipeline.domain.events import night_events as n
from pipeline.domain.events import session_events as e
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.research_values import Changes, Cost, Paragraph, ReportSection, Sentence, SourceChange
from pipeline.errors import GONE
from pipeline.research.report_parsing import read_sentence
from pipeline.vault.build_cache import paths_of
from pipeline.vault.notes.nights_and_home import digest_of, text_of
from pipeline.vault.read_model import nights_in
from pipeline.vault.report_export import cited_sources, page, portable, references
from pipeline.vault.stages import SNIPPET
from tests.fakes import MemoryStore
from tests.site.scratch import Scratch
from tests.vault.builders import PAGES, Say, Scribe, Story, Workplace, a_store, changing, fact, night
from tests.vault.scanner import body_of

GOLDEN = Path(__file__).parent / "golden"
SIGNS = Path(__file__).parents[1] / "site" / "signs.md"  # a note with all that Obsidian reads
SHOWN = ("404.html", "browse/reports", "browse/earlier", "reports/", "feed.xml", "my/signs", "sitemap.xml")  # of the site
FORMS = ("https://forms.example/steps", "corpus:forms.pdf", "https://bücher.example:8080/a%20b/100%/ä?all=1&b=2")
LONG = "A power-cut, again & again: " + " ".join(f"word{number}" for number in range(40))
SENTENCES = Path(__file__).with_name("sentences.txt")  # as a model may write them; of its keys and addresses only [E1]'s count
HEARD = fact("corpus:a.md", "It listens at http://localhost:11434/v1 by default; see https://docs.example/a?b=c.")
TABLE = "| Method | Survives |\n| fsync | yes |\n| none | no |"
# Passages, and what stands before each: a list without its first item, the end of a table's and of long code, and their like.
PASSAGES = (
    ("- Sync.", "Two rules:"), ("- Sync twice.", "fsync"), ("- One:\n- Two:", ""), ("| fsync | no |", "| Method | Survives |"),
    ("| Method | Survives |\n| fsync | yes, each power cut |", ""), ("Run it:\n\n```\nfsync --all -v now\n    ok\n```", ""),
    ("$ one\n\n$ two\n```\n\nText.", ""),
    ("- It waits.\n- EAGAIN: Wait. (See below.)\n- It is sent,\n- EPERM: not\n- EIO;", ""),
)  # fmt: skip
ELSEWHERE = ("corpus:@other/old/policy.md", "corpus:@other/kept.md", PAGES[2])
LOST = SourceChange(url=ELSEWHERE[0], title="Policy", before="d" * 64, reason=f"it cannot be read: {GONE}")
# A language with labels, without a model; one without, which is read from right to left.
LANGUAGES: dict[str, Say] = {
    "Wie überlebt ein Protokoll einen Stromausfall?": lambda words: words.replace("careful-model", "extractive"),
    "كيف ينجو السجل من انقطاع التيار الكهربائي؟": str,
}


def of_all_forms(store: MemoryStore) -> Story:
    """A report with steps, code, lists, tables and passages, of a PDF too, and a page that gives orders to models."""
    story = Story(
        store, id="2026-11-29-forms-0f0f", query="Which forms has a report?", query_id="forms", date="2026-11-29",
        tags=("forms",), pages=FORMS, notices={FORMS[0]: ("gives-orders", "noai")},
    )  # fmt: skip
    first, second, third, fourth, _ = story.facts
    second = second.model_copy(update={"quote": TABLE, "claim": TABLE, "path": ("A page", "Chapter", "Part")})
    third = third.model_copy(update={"start": 60})
    passages = [fact(FORMS[2], text).model_copy(update={"lead": lead}) for text, lead in PASSAGES]
    story.facts = (first, second, third, fourth, fact(FORMS[2], LONG), *passages)
    cited, other = (first.id,), (first.id, third.id)

    def said(text: str, **more: object) -> Sentence:
        return Sentence.model_validate({"text": text, "facts": cited, **more})

    steps = (said("Look first.", basis="derived"), said("Skip none.", within="item"), said("Then run it:"))
    row = said("a", cells=("a", "`b | c`"))
    marked = row.model_copy(update={"cell_facts": (other, ())})
    parts = {
        "Steps": (
            Paragraph(sentences=steps, form="steps"),
            Paragraph(sentences=(said("run it"),), form="code"),
            Paragraph(sentences=(said("Or wait."), said("Not long.", within="list")), form="bullets"),
            Paragraph(sentences=(said("Stop."),), form="steps", start=3),
            Paragraph(sentences=(said("halt", facts=(), basis="bridge"),), form="code"),
        ),
        "More steps": (
            Paragraph(sentences=(said("Go on."),), form="steps", start=4),
            Paragraph(sentences=(said("go"), said("on", basis="derived")), form="code"),
            Paragraph(sentences=(said("elsewhere", facts=other),), form="code"),
            Paragraph(sentences=(said("Somewhere:", facts=(), basis="bridge"),)),
            Paragraph(sentences=(said("there", facts=other),), form="code"),
        ),
        "Steps anew": (
            Paragraph(sentences=(said("Rest:", basis="derived"),), form="steps"),
            Paragraph(sentences=(said("rest", basis="derived"),), form="code"),
            Paragraph(sentences=(said("Or sleep:"),), form="bullets", start=2),
            Paragraph(sentences=(said("sleep"),), form="code"),
        ),
        "Items": (
            Paragraph(sentences=(said("One."), said("Then.", basis="derived", within="item"), said("Two:")), form="bullets"),
            Paragraph(sentences=(said("two"),), form="code"),
            Paragraph(sentences=(said("Three."),), form="bullets"),
            Paragraph(sentences=(said("`a::b` or (`c::d`)."), said("Thus.", basis="derived"))),
        ),
        "A table": (
            Paragraph(sentences=(said("As ever.", facts=(), basis="bridge"), said("See which.", facts=(), basis="bridge"))),
            Paragraph(sentences=(row, marked), form="table", header=("A", "B")),
            Paragraph(sentences=()),
            Paragraph(sentences=(row,), form="table", header=("A", "B")),
        ),
        "Passages": (
            Paragraph(sentences=(said(TABLE, facts=(second.id,)), said(third.quote, facts=(third.id,))), kind="passages"),
            Paragraph(sentences=tuple(said(one.quote, facts=(one.id,)) for one in passages), kind="passages"),
        ),
    }
    read = (read_sentence(line, {"E1": HEARD}) for line in SENTENCES.read_text().splitlines())
    parts["Signs"] = (Paragraph(sentences=tuple(said(one.text) for one in read if one), form="bullets"),)
    sections = tuple(
        ReportSection(id=f"s{number}", title=title, paragraphs=paragraphs)
        for number, (title, paragraphs) in enumerate(parts.items())
    )
    of_pdf = changing(e.PageRead, sheets=(0, 50), dropped={"headers, footers": 12})
    changes = (changing(e.ReportGenerated, sections=sections), of_pdf)
    story.scribe.amend = lambda event: changes[1](changes[0](event))
    story.begin().planned().gathered()
    for name in ("large", "small", "large", "extractive"):
        cost = Cost(usd=1, model=name)
        story.scribe.note(e.StepFailed(step="FindGaps", error="x", message="", recoverable=True, attempt=1, cost=cost))
    unused, unread = "https://unused.example/", "https://unread.example/"
    for url in (unused, unread):
        story.scribe.note(e.PageRead(url=url, title="Not cited", digest="0" * 64, characters=9))
    found = (fact(unused, "It leads to no note."),)
    story.scribe.note(e.FactsObserved(worker_id="search_1", iteration=1, url=unused, digest="0" * 64, facts=found))
    return story.analysed().reported()


def researched_again(
    store: MemoryStore, name: str, *, new: bool = False, title: str = "", pages: tuple[str, ...] = PAGES, **changed: object
) -> Story:
    """The second report on a question, with this title; what changed since the first is as given. ``new``: it has new facts.

    ``pages`` are what the first was made from.
    """

    def stays(text: str) -> str:
        return f"It stays. {text}" if text.endswith(".") else text

    given: dict[str, Any] = {"query": f"Again: what of {name}?", "query_id": name, "tags": ()}
    first = Story(store, id=f"2026-11-28-{name}-11aa", date="2026-11-28", pages=pages, **given).whole()
    say: Say = stays if new else str
    again = Story(store, id=f"2026-11-29-{name}-22bb", date="2026-11-29", previous=first.id, say=say, **given)
    cited, *_, further = again.facts
    added = (further.id, cited.id) if new else ()  # what is not cited is not called new
    gone = (fact(PAGES[0], "It stays. Fsync makes an append fast."),) if new else ()  # of the new one only the rest is new
    changes = Changes(session=first.id, since="2026-11-28T02:16:00.000Z", kept=3, added=added, gone=gone).model_copy(
        update=changed
    )
    titled = changing(e.ReportGenerated, **({"title": title} if title else {}))
    altered = changing(e.ChangesFound, changes=changes.model_copy(update=changed))
    again.scribe.amend = lambda event: titled(altered(event))
    return again.whole()


def asked(store: MemoryStore, name: str, date: str, previous: str = "") -> Story:
    return Story(
        store, id=f"{date}-{name}-33ee", query=f"Is {name} old?", query_id=name, date=date, previous=previous, tags=("age",)
    )


def an_outage(store: MemoryStore) -> None:
    """A night in which the model's server was down."""
    begun = asked(store, "sand", "2026-11-30").begin().planned(), asked(store, "foam", "2026-11-30").begin()
    server_down: dict[str, Any] = {"reason": "the model's server is down", "cause": "outage"}
    start = n.BatchStarted(due=("sand", "foam", "salt"), unread=("my/Queue.md, line 3: no field mod",), timezone="Europe/Berlin")
    Scribe(store, "batch-2026-11-30t020000-ab12", "2026-11-30").note(
        start,
        n.QuerySkipped(query_id="lava", query="IS LAVA OLD?", reason="failed: no evidence", cause="left"),
        *(n.QueryEnded(query_id=x.query_id, query=x.query, session=x.id, status="interrupted", **server_down) for x in begun),
        n.QuerySkipped(query_id="salt", query="Is salt old?", **server_down),
        n.BatchEnded(done=0, failed=0, skipped=3, exit_code=3, duration_s=2.0),
    )


def a_killed_night(store: MemoryStore, previous: str) -> Story:
    """A night that ended one question, ended by the loss of its process; return the story that it left half done."""
    wind, more = asked(store, "wind", "2026-12-01", previous=previous), {"after": "batch-2026-11-30t020000-ab12"}
    changes = Changes(session=wind.previous, since="2026-11-29T02:15:29.000Z", kept=1)
    wind.scribe.amend = changing(e.ChangesFound, changes=changes)
    ice = asked(store, "ice", "2026-12-01").begin().planned()
    kept = n.QueryEnded(
        query_id="wind", query=wind.query, session=wind.whole().id, status="complete", cost=Cost(usd=0.03), duration_s=30
    )
    killed = n.BatchStarted(due=("wind", "ice", "not-begun", "salt"), queries={"ice": ice.query, "salt": "Is salt old?"}, **more)
    vectors = n.PassagesEmbedded(model="m", passages=9, cost=Cost(usd=0.5))
    Scribe(store, "batch-2026-12-01t020000-ab12", "2026-12-01").note(killed, vectors, kept)
    Scribe(store, "batch-2026-12-01t030000-ab12", "2026-12-01").note(n.BatchStarted(due=(), **more), vectors)
    return ice


def golden_files(root: Path) -> dict[str, bytes]:
    """Build the vault and its site below ``root``; return what ``golden/`` holds of them."""
    store = a_store()
    stories = [of_all_forms(store)]
    for query, say in LANGUAGES.items():
        name = f"2026-11-29-language-00{len(stories)}0"
        others = tuple(f"{page}-{len(stories)}" for page in PAGES)
        stories.append(Story(store, id=name, query=query, query_id=name, date="2026-11-29", say=say, pages=others).whole())
    stories.append(researched_again(store, "policy", pages=ELSEWHERE, unread=(LOST,)))
    winds = researched_again(store, "wind", title="On the wind", new=True)
    other = SourceChange(url=PAGES[1], title="A page", before="1" * 64, after="2" * 64)
    changed: dict[str, Any] = {"sources": (other,), "called_wrong": 1}
    stories += [winds, researched_again(store, "rain", title="AGAIN what of rain", **changed)]
    lava = asked(store, "lava", "2026-11-28")
    lava.scribe.amend = changing(e.WorkerCompleted, reason="nothing left to ask")
    stories.append(asked(store, "lava", "2026-11-29", previous=lava.whole().id).begin().not_found())
    foam = asked(store, "foam", "2026-11-29")  # without what the earlier note, which found nothing, could tell it
    foam.scribe.amend = changing(e.ResearchStarted, previous_session=asked(store, "foam", "2026-11-28").begin().not_found().id)
    night(store, *stories, foam.whole(), date="2026-11-29", archived=("power-cut",))
    asked(store, "moss", "2026-11-29").begin().planned().scribe.note(e.ApprovalRequested())
    place, made = Workplace(root, store, documents=Path("/papers")), {}

    def told(name: str) -> None:
        place.build()
        made[f"vault/Home {name}.md"] = place.note("Home").read_bytes()
        digest = digest_of(store, nights_in(store)[0], today="2026-12-01")
        lines = digest.heading, *text_of(digest, attrgetter("report_path"))
        made[f"exported/digest {name}.txt"] = "\n".join(lines).encode()

    place.record([NoteRated(note="source:x", rating="wrong", url=PAGES[0])])
    told("after the night before")
    an_outage(store)
    told("after a night without a server")
    ice = a_killed_night(store, winds.id)
    told("after a night that was killed")
    ice.scribe.date = "2026-12-02"
    ice.gathered().analysed().reported()  # by the next run
    place.build()
    assert place.leading_nowhere() == []
    assert [path for path in place.files() if path.startswith(".obsidian/")] == [SNIPPET], "nothing else of Obsidian's settings"
    site = Scratch(root)
    site.write("my/signs.md", SIGNS.read_bytes())
    site.write("img/Chart One.png", "no real picture")
    site.build(url="https://notes.example/")
    assert not any(b"file:///" in data for data in site.files().values()), "no page says where a reader's documents are"
    notes = {f"vault/{path}": data for path, data in place.files().items() if path.endswith((".md", ".svg"))}
    sources = cited_sources(place.state, stories[0].id)
    paths = paths_of(place.state, "source")
    report = portable(body_of(place.note("reports/2026/which-forms").read_text()), sources, paths)[0]
    exported = {
        "report.md": report, "report.html": page("Which forms has a report?", report),
        "sources.json": json.dumps(references(sources), ensure_ascii=False, indent=1),
        "signs.md": portable(body_of(SIGNS.read_text()), sources, paths)[0],
    }  # fmt: skip
    pages = {f"site/{path}": data for path, data in site.files().items() if path.startswith(SHOWN)}
    made |= {**notes, **pages, **{f"exported/{name}": text.encode() for name, text in exported.items()}}
    left_out = re.compile("vault/my/signs.md|(site|sessions|workers)/.*(again-what|is-(foam|ice|sand)-old)")
    return {path: data for path, data in made.items() if not left_out.search(path)}


def test_every_note_and_page_is_as_it_was(tmp_path: Path) -> None:
    made = {path: data.decode() for path, data in golden_files(tmp_path).items()}
    kept = {path.relative_to(GOLDEN).as_posix(): path.read_text() for path in GOLDEN.rglob("*") if path.is_file()}
    assert made.keys() == kept.keys()
    for path, text in made.items():
        assert text == kept[path], path


if __name__ == "__main__":
    shutil.rmtree(GOLDEN, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        for path, data in golden_files(Path(folder)).items():
            (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / path).write_bytes(data)
