"""What is not published is nowhere on the site: neither its page nor what other pages say of it."""

from __future__ import annotations

import re
import shutil
import zlib
from base64 import b64decode
from pathlib import Path

import pytest

from pipeline.text.links_to_hidden_notes import without_blocks
from pipeline.vault.note import block_id
from tests.commanding import said, workspace_in
from tests.fakes import MemoryStore
from tests.site.scratch import Scratch
from tests.vault.builders import Story, built, change, fact

QUESTION = "How many quokkas does the zephyrine ferry carry?"
RARE = ("zephyrine", "quokka", "forty-seven")
SPELLINGS = ("false", "no", '"false"', "0", "later", "")
OTHER = "How deep is the harbour at low tide?"


@pytest.fixture(scope="module")
def public_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    queries = f"  - {{query: '{QUESTION}', id: ferry, tags: [sea]}}\n  - {{query: '{OTHER}', id: harbour, tags: [sea]}}\n"
    folder = workspace_in(tmp_path_factory.mktemp("public"), queries)
    text = "The zephyrine ferry carries forty-seven quokkas on each crossing. No more quokkas may board the zephyrine ferry."
    (folder / "corpus" / "ferry.md").write_text(f"# The zephyrine ferry\n\n{text}\n")
    assert said(folder, "-q", "run").code == 0
    return folder


@pytest.fixture
def folder(public_night: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(public_night, tmp_path / "ws", symlinks=True))


def note(folder: Path, room: str) -> Path:
    return next(path for path in (folder / "vault" / room).rglob("*.md") if "quokka" in path.name)


def naming(folder: Path) -> list[str]:
    """The files of the site with one of the rare words, in packed parts of the search index too."""
    found = []
    for path in sorted(path for path in (folder / "site").rglob("*") if path.is_file()):
        text = path.read_bytes().decode("utf-8", "replace")
        text += "".join(zlib.decompress(b64decode(part)).decode() for part in re.findall(r'"(e[JN][\w+/=]{20,})"', text))
        if any(word in f"{path.name} {text}".lower() for word in RARE):
            found.append(path.relative_to(folder / "site").as_posix())
    return found


def mark(path: Path, value: str) -> None:
    path.write_text(path.read_text().replace("---\n", f"---\npublish: {value}\n", 1))


@pytest.mark.parametrize("value", SPELLINGS)
def test_no_file_of_the_site_says_what_a_report_that_is_not_published_asks_and_answers(folder: Path, value: str) -> None:
    assert len(naming(folder)) > 8
    mark(note(folder, "reports"), value)
    told = said(folder, "build")
    assert told.code == 0
    assert naming(folder) == []
    topic = (folder / "site" / "topics" / "topic-sea.html").read_text()
    assert ("Questions with the tag" in topic, re.search(r"[Qq]uestions\W+2\b|\b2 questions", topic)) == (True, None)
    assert ("is not published: its property" in told.out + told.err) == (value in ("later", ""))
    assert list((folder / "site" / "reports").rglob("*harbour*.html"))


@pytest.mark.parametrize("room", ["sessions", "reports"])
def test_an_incremental_build_and_one_from_nothing_leave_out_the_same_and_bring_it_back(folder: Path, room: str) -> None:
    before = Scratch(folder).files()
    marked = note(folder, room)
    text = marked.read_text()
    mark(marked, "no")
    said(folder, "build")
    assert naming(folder) == []
    now = Scratch(folder).files()
    assert said(folder, "build", "--all").code == 0
    assert Scratch(folder).files() == now
    marked.write_text(text)
    said(folder, "build")
    assert Scratch(folder).files() == before


def test_what_is_hidden_is_nowhere_on_the_site(folder: Path) -> None:
    assert said(folder, "hide", "ferry").code == 0
    assert naming(folder) == []
    assert said(folder, "unhide", "--all").code == 0
    assert naming(folder) != []


def test_a_persons_own_note_keeps_its_words_without_the_link(folder: Path) -> None:
    report = note(folder, "reports")
    (folder / "vault" / "my" / "mine.md").write_text(
        f"Mine: see [[{report.stem}|the quokkas]], [q](../reports/2026/{report.name}) and [[Home]].\n"
    )
    mark(report, "false")
    said(folder, "build")
    page = (folder / "site" / "my" / "mine.html").read_text()
    assert "Mine: see a note that is not published, a note that is not published and <a " in page


def test_a_quote_that_a_published_report_cites_keeps_its_place_when_a_later_report_is_not_published(tmp_path: Path) -> None:
    store = MemoryStore()
    first = Story(store).whole()
    later = Story(store, id="2026-11-28-quokka-9c01", query="Quokkas?", query_id="quokka", date="2026-11-28")
    later.facts = (*later.facts[:3], fact(later.pages[2], "Forty-seven drives lose data."), later.facts[4])
    later.whole()
    place, scratch = built(tmp_path, store), Scratch(tmp_path)
    scratch.build()
    assert naming(tmp_path) != []
    mark(note(tmp_path, "reports"), "no")
    scratch.build()
    assert naming(tmp_path) == []
    both = block_id(first.facts[0].id)
    assert f'id="^{both}"' in "".join(page.read_text() for page in (tmp_path / "site" / "sources").rglob("*.html"))
    assert place.leading_nowhere() == []


def test_later_reports_on_a_question_follow_the_latest_mark_and_a_published_one_names_none_that_is_not(tmp_path: Path) -> None:
    store, before = MemoryStore(), ""
    for day, name in (("2026-11-21", "quokka"), ("2026-11-28", "quokka"), ("2026-12-05", "more-quokkas")):
        query = f"Which {name.replace('-', ' ')}?"
        before = Story(store, id=f"{day}-{name}-3f2a", previous=before, query=query, query_id=name, date=day).whole().id
    built(tmp_path, store)
    first, second, third = sorted(
        (tmp_path / "vault" / "reports").rglob("*.md"), key=lambda path: path.read_text().partition("\ncreated:")[2]
    )
    scratch = Scratch(tmp_path)
    mark(first, "false")
    scratch.build()
    assert naming(tmp_path) == []
    mark(third, "true")
    scratch.build()
    assert [path.stem for path in (tmp_path / "site" / "reports").rglob("*.html")] == [third.stem]
    mark(second, "true")
    scratch.build()
    shown = {path.stem: path.read_text() for path in (tmp_path / "site" / "reports").rglob("*.html")}
    assert shown.keys() == {second.stem, third.stem}
    assert [words for words in ("Earlier answers", "21 November") if words in shown[second.stem]] == []
    change(third, "publish: true", "publish: false")
    Story(store, id="2026-11-20-more-quokkas-9c01", query="Which more quokkas?", query_id="q", date="2026-11-20").whole()
    built(tmp_path, store)  # asked in the new words before that
    scratch.build()
    assert naming(tmp_path) == []  # the question goes with its newest report


def test_a_topic_has_a_page_only_if_a_published_session_has_it(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, tags=("secret", "sea")).whole()
    Story(store, id="2026-11-22-tides-77aa", query="Why are there tides?", query_id="tides", tags=("sea",)).begin().failed()
    place = built(tmp_path, store)
    site = Scratch(tmp_path)
    site.build()
    assert {path for path in site.files() if "topic-" in path} == {"topics/topic-sea.html", "topics/topic-secret.html"}
    mark(place.note("reports"), "false")
    site.build()
    assert {path for path in site.files() if "topic-" in path} == {"topics/topic-sea.html"}
    assert not [path for path, data in site.files().items() if b"topic-secret" in data or "secret" in path]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("- **[[x|q]]**\n    a\n    - b\n- c", "- c"),
        ("> - [[x]]\n>     more\n> - c", "> - c"),
        ("- c\n- [[x]]\n\nText.", "- c\n\nText."),
        ("- a\n    - [[x]]\n        b\n    - c\n- d\n    - [[x]]\n- e", "- a\n    - c\n- e"),
        ("N: [[x|q]] · [[c]] · [[x]] · [[d|a]]\n- M: [[x]]", "N: [[c]] · [[d|a]]"),
        ("## A\n\n### [[x]]\n\ntext\n\n#### deeper\n\n### C\n\nc", "## A\n\n### C\n\nc"),
        ("| [[x\\|q]] | 1 |\n| c | 2 |", "| c | 2 |"),
        ("> [!question] [[x]]\n> why\n\nc", "\nc"),
        ("> text\n> “quoted” [[x]]\n\n^q-1\n\nc", "\nc"),
        ("one\ntwo [[x]]\n\nc", "\nc"),
        ("[[c]] and `x`", "[[c]] and `x`"),
        ("## A\n\n- [[x]]\n    a\n- [[x]]\n\nB\n\n## C\n\n- [[x]]\n- c\n\n## D", "\n\nB\n\n## C\n\n- c\n\n## D"),
    ],
)
def test_what_one_note_says_of_another_goes_with_the_link(text: str, left: str) -> None:
    assert without_blocks(text, lambda target: target == "x") == left


def test_of_links_in_a_row_each_goes_alone_with_what_stands_in_brackets_behind_it() -> None:
    row = "Nothing new: [[a|A]] (changed: b) · [[b|B]] (changed: c) · [[c|C]]"
    assert without_blocks(row, "b".__eq__) == "Nothing new: [[a|A]] (changed: b) · [[c|C]]"
