from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import CorpusUnusable, ReadFailed
from pipeline.search.folders import Corpus, FoundFile, SkippedFile


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
    assert [str(error).count("gone") for error in corpus.unusable()] == [1]
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
