from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipeline.documents.extract import extract
from pipeline.documents.extractor import Extractor, Limits
from pipeline.domain.research_values import Hit
from pipeline.errors import CorpusUnusable, ExitCode, IndexRefused, ReadFailed
from pipeline.ports import Page, SearchResult
from pipeline.search import passage_search
from pipeline.search.corpus_files import contents
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Meaning
from pipeline.text.passages import blocks
from tests.documents.pdfs import pdf
from tests.embedding_server import Stage, serving

WORDS = "Filler words that say nothing of note stand here so that a section is long enough to be one of its own. " * 4


def corpus(docs: Path) -> PassageSearch:
    return PassageSearch(docs.parent / "local" / "passages.sqlite", docs)


def hits(folder: PassageSearch, query: str, limit: int = 10) -> tuple[Hit, ...]:
    return asyncio.run(folder.search(query, limit)).hits


def read(folder: PassageSearch, url: str) -> Page:
    return asyncio.run(folder.read(url))


def urls(folder: PassageSearch, query: str, limit: int = 10) -> list[str]:
    return [hit.url for hit in hits(folder, query, limit)]


def test_a_heading_alone_or_with_its_pages_title_brings_its_section_first(docs: Path) -> None:
    for name in ("Moon", "Sun"):
        chatter = "## Talk\n\nThe known limits of locks, and locks known for their limits. Moon limits, sun limits.\n\n"
        (docs / f"{name}.md").write_text(f"# {name}\n\n{WORDS}\n\n{chatter}## Known limits\n\n{name} has none. {WORDS}")
    folder = corpus(docs)
    assert hits(folder, "Known limits")[0].heading == "Known limits"
    assert urls(folder, "Sun: known limits")[0] == "corpus:Sun.md#known-limits"


def test_a_search_for_several_headings_or_by_their_numbers_brings_each_section_first(docs: Path) -> None:
    for n in range(20):
        talk = "Problems of locks, errors of waits, 2.7 problems and 21.15 of them. " if n < 4 else ""
        (docs / f"Talk {n}.md").write_text(f"# Talk {n}\n\n{talk}{f'Nobody heard talk {n} to its end. ' * 30}")
    (docs / "Moon.md").write_text(f"# Moon\n\n## 2.7. Waits and locks\n\n{WORDS}\n\n## Errors\n\n{'Each is said once. ' * 30}")
    (docs / "Sun.md").write_text(f"# 21.15. Lock problems\n\n{'They are rare. ' * 30}")
    folder = corpus(docs)
    assert urls(folder, "21.15 Lock problems")[0] == "corpus:Sun.md"
    asked = urls(folder, "2.7. Waits (continued) problems errors; Errors; 21.15. Lock problems")
    assert set(asked[:3]) == {"corpus:Moon.md#2-7-waits-and-locks", "corpus:Moon.md#errors", "corpus:Sun.md"}


def test_a_search_for_many_headings_brings_them_of_the_one_document_that_has_most_and_by_the_identifiers_that_begin_them(
    docs: Path,
) -> None:
    names = ("Header", "Encoding", "Format", "wal_size (integer)", "wal_timeout (integer)", "Program")
    parts = (f"## {name}\n\n{f'Nobody read what is said of {name} to its end. ' * 25}\n\n" for name in names)
    (docs / "Copy.md").write_text(f"# Copy\n\n{''.join(parts)}")
    for n in range(30):
        begin = "## Encoding\n\nOf the wal_size and the wal_timeout. " if n < 3 else ""
        (docs / f"Talk {n}.md").write_text(f"# Talk {n}\n\n{begin}{f'Nobody heard talk {n} to its end. ' * 25}")
    asked = hits(corpus(docs), "Header; Encoding; Format; wal_size default; wal_timeout; Program", 6)
    assert {(hit.title, hit.heading) for hit in asked} == {("Copy", name) for name in names}


def test_a_hit_leads_to_the_passage_in_its_page(docs: Path) -> None:
    (docs / "a b.md").write_text(
        f"---\ndate: 2024-05-01\n---\n# Logs\n\n{WORDS}\n\n## Power cuts\n\nfdatasync survives them. {WORDS}"
    )
    folder = corpus(docs)
    (hit,) = hits(folder, "fdatasync")
    assert (hit.url, hit.title, hit.heading, hit.published) == ("corpus:a%20b.md#power-cuts", "Logs", "Power cuts", "2024-05-01")
    assert hit.snippet.startswith("fdatasync survives them.")
    page = read(folder, hit.url)
    assert page.url == "corpus:a%20b.md"
    assert {block.anchor for block in blocks(page.text) if "fdatasync" in block.text} == {"power-cuts"}


def test_scores_fall_from_the_first_hit_on_and_lie_between_0_and_1(docs: Path) -> None:
    for number in range(1, 9):
        (docs / f"{number}.txt").write_text("checkpoint " * number + " ".join(f"word{number}x{place}" for place in range(50)))
    scores = [hit.score for hit in hits(corpus(docs), "checkpoint interval")]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len(scores) == 8


def test_copies_of_a_document_are_one_source(docs: Path) -> None:
    for name in ("z.md", "a.md", "m.md"):
        (docs / name).write_text("# Same\n\ncheckpoint")
    assert urls(corpus(docs), "checkpoint") == ["corpus:a.md"]


@pytest.mark.parametrize("query", ["", "?!", "nowherefound"])
def test_nothing_found_is_no_error(docs: Path, query: str) -> None:
    (docs / "a.md").write_text("text")
    assert hits(corpus(docs), query) == ()
    assert hits(corpus(docs), "text", 0) == ()


def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Return the names of the files that are opened, and of those that are parsed, from now on."""
    opened: list[str] = []
    parsed: list[str] = []

    def noting_contents(path: Path) -> bytes:
        opened.append(path.name)
        return contents(path)

    def noting_file(self: Extractor, data: bytes, path: Path) -> Page:
        parsed.append(path.name)
        return extract(data, path=str(path))

    monkeypatch.setattr(passage_search, "contents", noting_contents)
    monkeypatch.setattr(Extractor, "file", noting_file)
    return opened, parsed


def test_only_files_that_changed_are_read_again(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (docs / name).write_text(f"text of {name}")
    assert corpus(docs).refresh().changed == 3
    opened, parsed = watched(monkeypatch)
    os.utime(docs / "a.md", ns=(1, 1))
    (docs / "b.md").write_text("another text altogether")
    (docs / "d.md").write_text("new")
    (docs / "c.md").unlink()
    report = corpus(docs).refresh()
    assert (report.files, report.changed, report.removed, report.passages) == (3, 2, 1, 3)
    assert (opened, parsed) == (["a.md", "b.md", "d.md"], ["b.md", "d.md"])
    assert corpus(docs).refresh().changed == 0
    assert opened == ["a.md", "b.md", "d.md"]


def test_a_page_is_read_as_it_is_now_and_a_missing_one_is_an_error(docs: Path) -> None:
    (docs / "a b.md").write_text("before")
    folder = corpus(docs)
    assert hits(folder, "before")
    (docs / "a b.md").write_text("after")
    assert "after" in read(folder, "corpus:a%20b.md").text
    (docs / "a b.md").unlink()
    with pytest.raises(ReadFailed, match=r"corpus:a b\.md cannot be read: it is no longer in the folder"):
        read(folder, "corpus:a%20b.md")


def test_bad_files_are_reported_and_do_not_keep_the_good_ones_from_being_found(docs: Path) -> None:
    (docs / "good.md").write_text("the good one")
    (docs / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    (docs / "scan.pdf").write_bytes(pdf([[]]))
    (docs / "empty.md").write_bytes(b"")
    (docs / "nul.txt").write_bytes(b"a\0b\0\0c" + bytes(80))
    (docs / "picture.jpg").write_bytes(b"\xff\xd8")
    (docs / "latin.txt").write_bytes("größe".encode("latin-1"))
    (docs / "deep.html").write_text("<div>" * 2_000)
    (docs / "wide.html").write_text("<p " + " ".join(f"a{n}=1" for n in range(50_000)) + ">x")
    with (docs / "huge.md").open("wb") as huge:
        huge.truncate(50_000_000)
    folder = corpus(docs)
    report = folder.refresh()
    reasons = {problem.path: problem.reason for problem in report.problems}
    assert report.files == 2
    assert sorted(reasons) == [
        "broken.pdf", "deep.html", "empty.md", "huge.md", "nul.txt", "picture.jpg", "scan.pdf", "wide.html",
    ]  # fmt: skip
    assert "no text layer" in reasons["scan.pdf"]
    assert report.problems == corpus(docs).refresh().problems
    assert sorted(urls(folder, "größe good")) == ["corpus:good.md", "corpus:latin.txt"]


def test_an_unreadable_file_is_reported_and_tried_again(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docs / "a.md").write_text("readable")
    (docs / "b.md").write_text("locked")

    def refuse(path: Path) -> bytes:
        if path.name == "b.md":
            raise ReadFailed("permission denied")
        return contents(path)

    with monkeypatch.context() as patched:
        patched.setattr(passage_search, "contents", refuse)
        assert corpus(docs).refresh().problems == (("b.md", "permission denied"),)
    report = corpus(docs).refresh()
    assert (report.problems, report.changed, report.files) == ((), 1, 2)


def test_a_folder_without_a_document_is_refused(docs: Path) -> None:
    with pytest.raises(CorpusUnusable, match="it is empty") as caught:
        corpus(docs).refresh()
    assert (caught.value.exit_code, ".md" in caught.value.hint) == (2, True)
    (docs / "a.png").write_bytes(b"x")
    with pytest.raises(CorpusUnusable, match=r"1 x unsupported file type"):
        hits(corpus(docs), "x")
    with pytest.raises(CorpusUnusable, match="cannot be used"):
        hits(PassageSearch(docs / "nowhere", docs.parent / "x.sqlite"), "x")


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, None])
def test_a_damaged_cache_is_built_anew(docs: Path, damage: bytes | None) -> None:
    (docs / "a.md").write_text("checkpoint")
    folder = corpus(docs)
    folder.refresh()
    folder.close()
    cache = docs.parent / "local" / "passages.sqlite"
    whole = cache.read_bytes()
    cache.write_bytes(whole[:4096] + bytes(len(whole) - 4096) if damage is None else damage)
    assert urls(corpus(docs), "checkpoint") == ["corpus:a.md"]


def test_a_cache_of_another_version_is_built_anew(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docs / "a.md").write_text("checkpoint")
    assert corpus(docs).refresh().changed == 1
    monkeypatch.setattr("pipeline.search.index.VERSION", 1)
    assert corpus(docs).refresh().changed == 1
    assert corpus(docs).refresh().changed == 0


def test_a_cache_that_cannot_be_written_is_an_error_with_a_hint(docs: Path) -> None:
    (docs / "a.md").write_text("checkpoint")
    (docs.parent / "local").write_text("a file in the way")
    with pytest.raises(IndexRefused, match="cannot be used") as caught:
        corpus(docs).refresh()
    assert (caught.value.exit_code, "free some space" in caught.value.hint) == (ExitCode.SYSTEM, True)


def test_a_document_for_which_a_busy_machine_had_no_time_is_read_by_the_next_run(docs: Path) -> None:
    (docs / "slow.txt").write_text("checkpoint slow")
    hurried = corpus(docs)
    hurried._extractor = Extractor(Limits(wall_s=0.0001))
    with pytest.raises(CorpusUnusable, match="took longer than"):
        urls(hurried, "slow")
    assert "corpus:slow.txt" in urls(corpus(docs), "slow")


def test_several_builders_and_readers_do_not_disturb_each_other(docs: Path) -> None:
    for number in range(30):
        (docs / f"{number}.txt").write_text(f"checkpoint x{number}")
    folders = [corpus(docs) for _ in range(4)]
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda n: urls(folders[n % 4], "checkpoint", 30), range(24)))
    assert all(result == results[0] for result in results)
    assert len(results[0]) == 30


def test_several_folders_are_searched_as_one(docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kiln.1").write_text(".TH KILN 1\n.SH OPTIONS\n.TP\n.B \\-\\-glaze\nFires the porcelain twice.\n")
    folder = PassageSearch(tmp_path / "several.sqlite", [docs, other, tmp_path / "gone"])
    (hit,) = hits(folder, "porcelain")
    assert hit.url.partition("#")[0] == "corpus:@other/kiln.1"
    assert "Fires the porcelain twice." in read(folder, hit.url).text
    assert "@gone" in {problem.path for problem in folder.refresh().problems}


def by_meaning(docs: Path, stage: Stage) -> PassageSearch:
    return PassageSearch(docs.parent / "local" / "passages.sqlite", docs, meaning=Meaning(stage.client(price=1.0)))


def write_harbour(docs: Path) -> None:
    (docs / "basin.md").write_text("# The basin\n\nIts floor lies nine fathoms under the quay, and boats are moored there.\n")
    (docs / "bread.md").write_text("# Bread\n\nBread is baked at dawn, and how it smells is known to all.\n")


def test_a_passage_is_found_by_its_meaning_though_it_shares_no_word_with_the_query(docs: Path) -> None:
    write_harbour(docs)
    assert "corpus:basin.md" not in urls(corpus(docs), "How deep?")
    with serving() as stage:
        result = asyncio.run(by_meaning(docs, stage).search("How deep?", 10))
    assert result.hits[0].url == "corpus:basin.md"
    assert result.cost.usd > 0
    assert result.failed == ()


def test_the_vectors_of_all_passages_can_be_asked_for_ahead_and_a_changed_file_costs_its_own(docs: Path) -> None:
    write_harbour(docs)

    async def embed(folder: PassageSearch) -> list[int]:
        return [progress.done async for progress in folder.embed()]

    async def steps(folder: PassageSearch, stage: Stage) -> list[int]:
        counts = [sum(await embed(folder)), sum(await embed(folder))]
        (docs / "bread.md").write_text("# Bread\n\nIt is baked at noon now.\n")
        folder.refresh()
        stage.asked.clear()
        return [*counts, sum(await embed(folder))]

    with serving() as stage:
        assert asyncio.run(steps(by_meaning(docs, stage), stage)) == [2, 0, 1]
        assert [text for text in stage.texts if "basin" in text.lower()] == []
    assert asyncio.run(embed(corpus(docs))) == []


def test_vectors_outlive_a_cache_of_another_version(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_harbour(docs)
    with serving() as stage:
        asyncio.run(by_meaning(docs, stage).search("How deep?", 10))
        monkeypatch.setattr("pipeline.search.index.VERSION", 1)
        stage.asked.clear()
        assert asyncio.run(by_meaning(docs, stage).search("How deep?", 10)).hits[0].url == "corpus:basin.md"
        assert len(stage.texts) == 1  # the known text by which another model would be noticed


def test_an_earlier_folder_comes_first_where_both_are_about_as_near_and_a_much_better_one_wins(
    docs: Path, tmp_path: Path
) -> None:
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (docs / "own.md").write_text("# Own\n\nThe pump of our house was mended in May by the plumber.\n")
    (manuals / "pump.md").write_text("# Manual\n\nThe pump of a house is mended by a plumber once a year.\n")
    (manuals / "seal.md").write_text("# Seals\n\nThe gasket of the seal is greased.\n")
    cache = tmp_path / "both.sqlite"
    assert urls(PassageSearch(cache, [docs, manuals]), "who mended the pump of the house")[0] == "corpus:own.md"
    assert urls(PassageSearch(cache, [manuals, docs]), "who mended the pump of the house")[0] == "corpus:pump.md"
    assert urls(PassageSearch(cache, [docs, manuals]), "gasket of the seal of the house")[0] == "corpus:@manuals/seal.md"


def test_a_search_may_be_limited_to_a_folder_by_its_name_or_to_one_within_it(docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "deep").mkdir(parents=True)
    (docs / "in").mkdir()
    for path in (docs / "a.md", docs / "in" / "b.md", other / "c.md", other / "deep" / "d.md"):
        path.write_text(f"# {path.stem}\n\nThe pump named {path.stem} is loud.\n")
    folder = PassageSearch(tmp_path / "several.sqlite", [docs, other])

    def within(name: str) -> list[str]:
        return sorted(hit.url for hit in asyncio.run(folder.inside(name).search("loud pump", 9)).hits)

    assert within("in/") == within("docs/in") == ["corpus:in/b.md"]
    assert within("other") == ["corpus:@other/c.md", "corpus:@other/deep/d.md"]
    assert within("deep") == within("./other/deep") == ["corpus:@other/deep/d.md"]
    for wrong in ("nowhere", "../docs", "a.md"):
        with pytest.raises(CorpusUnusable, match="have no folder"):
            within(wrong)


def reranked(docs: Path, stage: Stage, query: str, limit: int = 2) -> SearchResult:
    folder = PassageSearch(docs.parent / "passages.sqlite", docs, reranker=stage.reranker(floor=0.6))
    return asyncio.run(folder.search(query, limit))


def test_what_a_reranker_was_not_shown_comes_behind_what_it_was(docs: Path) -> None:
    for number in range(60):
        (docs / f"{number}.md").write_text(f"# Harbour {number}\n\nThe harbour has {number} fathoms.\n")
    with serving() as stage:
        cosines = [hit.cosine for hit in reranked(docs, stage, "How deep is the harbour?", 55).hits]
    assert ([cosine is None for cosine in cosines], len(cosines)) == ([False] * 50 + [True] * 5, 55)


def test_a_reranker_orders_the_best_passages_and_its_score_and_floor_count_from_then_on(docs: Path) -> None:
    (docs / "a.md").write_text("# Harbour\n\nThe harbour, the harbour, and again the harbour.\n")
    (docs / "b.md").write_text("# Basin\n\nThe harbour has nine fathoms.\n")
    (docs / "c.md").write_text("# Bread\n\nBread is baked near the harbour.\n")
    assert urls(corpus(docs), "How deep is the harbour?")[0] == "corpus:a.md"
    with serving() as stage:
        result = reranked(docs, stage, "How deep is the harbour?")
    assert (result.hits[0].url, len(result.hits)) == ("corpus:b.md", 2)
    assert (result.hits[0].cosine or 0.0) > 0.6 < result.hits[0].score
    assert (result.statistics.nearest, result.cost.usd) == (0.6, 0.001)


@pytest.mark.parametrize("reply", [(404, {"error": "no such model"}), (200, {"results": []}), (200, {"results": [{"index": 7}]})])
def test_without_the_reranker_the_order_is_that_of_the_index_and_the_result_says_so(docs: Path, reply: Any) -> None:
    write_harbour(docs)
    with serving() as stage:
        stage.answer = lambda _texts: reply
        result = reranked(docs, stage, "baked bread")
    assert [hit.url for hit in result.hits] == urls(corpus(docs), "baked bread", 2)
    assert [side.origin for side in result.failed] == ["reranker"]


def test_a_file_of_which_pages_hold_no_text_is_named_with_their_number(docs: Path) -> None:
    (docs / "half.pdf").write_bytes(pdf([[(11, 700, "The level of the lake is 42 metres.")], [], []]))
    (docs / "good.md").write_text("The dam is open.")
    expected = (("half.pdf", "2 of its pages hold no text (text recognition would read them)"),)
    assert corpus(docs).refresh().thin == expected
    assert corpus(docs).thin() == expected
