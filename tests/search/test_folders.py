from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.errors import CorpusUnusable, ReadFailed
from pipeline.search.corpus_files import Corpus, FoundFile, SkippedFile, address_of, scan
from pipeline.text.addresses import path_of


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("main", "papers", "more/papers")]
    for folder in made:
        folder.mkdir(parents=True)
        (folder / "a b.md").write_text(folder.name)
    return made


def found(corpus: Corpus) -> list[str]:
    return sorted(entry.url for entry in corpus.scan() if isinstance(entry, FoundFile))


def skipped(corpus: Corpus) -> dict[str, str]:
    return {entry.path: entry.reason for entry in corpus.scan() if isinstance(entry, SkippedFile)}


def test_one_folder_has_the_addresses_it_always_had(folders: list[Path]) -> None:
    assert found(Corpus(folders[0])) == ["corpus:a%20b.md"]


def test_other_folders_are_told_apart_by_name_and_a_taken_name_gets_a_number(folders: list[Path]) -> None:
    corpus = Corpus(folders)
    assert found(corpus) == ["corpus:@papers-2/a%20b.md", "corpus:@papers/a%20b.md", "corpus:a%20b.md"]
    assert corpus.locate("corpus:@papers-2/a%20b.md#x") == folders[2] / "a b.md"
    assert all(corpus.path_at(url).read_text() for url in found(corpus))


def test_a_folder_inside_the_first_that_is_called_like_another_keeps_its_own_addresses(folders: list[Path]) -> None:
    (folders[0] / "@papers").mkdir()
    (folders[0] / "@papers" / "a b.md").write_text("inner")
    corpus = Corpus(folders[:2])
    assert found(corpus) == ["corpus:%40papers/a%20b.md", "corpus:@papers/a%20b.md", "corpus:a%20b.md"]
    assert corpus.locate("corpus:%40papers/a%20b.md").read_text() == "inner"
    assert corpus.locate("corpus:@papers/a%20b.md").read_text() == "papers"


def test_a_folder_that_is_named_twice_counts_once(folders: list[Path]) -> None:
    (folders[0].parent / "again").symlink_to(folders[0])
    assert len(found(Corpus([folders[0], folders[0].parent / "again", folders[0]]))) == 1


def test_a_missing_folder_is_reported_by_name_and_the_others_are_searched(folders: list[Path]) -> None:
    corpus = Corpus([folders[0], folders[0] / "gone"])
    assert found(corpus) == ["corpus:a%20b.md"]
    assert "gone cannot be used: no such file" in skipped(corpus)["@gone"]
    assert [str(error).count("gone") for error in corpus.unusable().values()] == [1]
    assert found(Corpus([folders[0] / "gone", folders[1]])) == ["corpus:@papers/a%20b.md"]


def test_no_usable_folder_is_an_error(folders: list[Path]) -> None:
    with pytest.raises(CorpusUnusable, match="gone"):
        list(Corpus([folders[0] / "gone", folders[0] / "lost"]).scan())


@pytest.mark.parametrize(
    "url", ["corpus:@papers/../main/a%20b.md", "corpus:@papers/", "corpus:@papers", "corpus:@other/a.md", "a.md"]
)
def test_an_address_cannot_leave_its_folder(folders: list[Path], url: str) -> None:
    with pytest.raises(ReadFailed):
        Corpus(folders[:2]).locate(url)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
@example("a b/c#d?e%20.md")
@example(os.fsdecode(b"caf\xe9.md"))
def test_an_address_is_plain_ascii_and_leads_back_to_the_path(path: str) -> None:
    assert address_of(path).isascii()
    assert not set(address_of(path)) & set(" #?()<>[]\n")
    assert path_of(address_of(path)) == path


def test_hidden_files_and_what_builders_leave_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.md", ".hidden.md", ".git/b.md", "_sources/c.md", "sub/d e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert found(Corpus(tmp_path)) == ["corpus:a.md", "corpus:sub/d%20e.md"]
    assert skipped(Corpus(tmp_path)) == {}


def test_other_kinds_of_files_are_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")
    with (tmp_path / "huge.txt").open("wb") as huge:
        huge.truncate(50_000_000)
    reasons = skipped(Corpus(tmp_path))
    assert sorted(reasons) == ["a.png", "gone.md", "huge.txt", "pipe.md"]
    assert ".png" in reasons["a.png"]
    assert "50 MB" in reasons["huge.txt"]


def test_links_that_leave_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "docs" / "real.md").write_text("x")
    (tmp_path / "docs" / "inside.md").symlink_to(tmp_path / "docs" / "real.md")
    (tmp_path / "docs" / "outside.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "docs" / "up").symlink_to(tmp_path)
    (tmp_path / "docs" / "within").mkdir()
    (tmp_path / "docs" / "again").symlink_to(tmp_path / "docs" / "within")
    assert found(Corpus(tmp_path / "docs")) == ["corpus:inside.md", "corpus:real.md"]
    assert skipped(Corpus(tmp_path / "docs")) == dict.fromkeys(("outside.md", "up"), "a link that leaves the folder")
    for url in ("corpus:outside.md", "corpus:up/secret.md"):
        with pytest.raises(ReadFailed, match="leaves the folder"):
            Corpus(tmp_path / "docs").locate(url)


@pytest.mark.parametrize(
    "url",
    [
        "corpus:../secret.md", "corpus:a/../../secret.md", "corpus:%2e%2e/secret.md", "corpus:..%2fsecret.md",
        "corpus:/etc/passwd", "corpus:%2Fetc/passwd", "corpus:", "corpus:.hidden/a.md", "corpus:a//b.md", "corpus:a%00.md",
        "corpus:./a.md", "a.md", "file:///etc/passwd", "https://example.org/a.md", "corpus:#x",
    ],
)  # fmt: skip
def test_an_address_cannot_leave_the_folder(tmp_path: Path, url: str) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "docs" / "a").mkdir(parents=True)
    with pytest.raises(ReadFailed, match="not the address"):
        Corpus(tmp_path / "docs").locate(url)


@given(st.text(max_size=30))
def test_any_address_is_located_inside_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    with contextlib.suppress(ReadFailed):
        assert Corpus(folder).locate("corpus:" + text).resolve().is_relative_to(folder.resolve())


def test_a_missing_folder_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CorpusUnusable, match=r"nowhere.*no such file") as caught:
        list(scan(tmp_path / "nowhere"))
    assert "queries.yaml" in caught.value.hint


def test_links_that_lead_back_to_themselves_are_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "self.md").symlink_to(tmp_path / "self.md")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "a.md").write_text("x")
    assert found(Corpus(tmp_path)) == ["corpus:a.md"]
    assert skipped(Corpus(tmp_path))["self.md"] == "a link that leads back to itself"
    with pytest.raises(CorpusUnusable, match="a link that leads back to itself"):
        list(scan(tmp_path / "loop"))
    for folder in (tmp_path, tmp_path / "loop"):
        with pytest.raises(ReadFailed):
            Corpus(folder).locate("corpus:self.md")
