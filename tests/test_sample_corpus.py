import re
from pathlib import Path

import frontmatter
import pypdfium2
import pytest
from selectolax.lexbor import LexborHTMLParser

from pipeline.text.normalise import holds_quote
from scripts.make_sample_pdf import TARGET, TITLE, document, pages
from tests.sample_corpus import Quoted, planted

CORPUS = Path(__file__).parent.parent / "corpus"
DOCUMENTS = sorted(path for path in CORPUS.iterdir() if path.name != "README.md" and not path.name.startswith("."))
PLANTED = planted()
CONTRADICTIONS, AGREEMENTS, QUESTIONS = PLANTED.contradictions, PLANTED.agreements, PLANTED.questions
QUOTED = [
    *(quoted for pair in CONTRADICTIONS for quoted in (pair.a, pair.b)),
    *(quoted for agreement in AGREEMENTS for quoted in agreement.sentences),
    *(quoted for near_miss in PLANTED.near_misses for quoted in (near_miss.a, near_miss.b)),
]


def text_and_title(path: Path) -> tuple[str, str]:
    """Return a document's text without mark-up and its title, by means of its own format alone."""
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as pdf:
            return "\n".join(page.get_textpage().get_text_range() for page in pdf), pdf.get_metadata_dict()["Title"]
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        tree = LexborHTMLParser(source)
        title, body = tree.css_first("title"), tree.css_first("article, main")
        return (body.text() if body else ""), (title.text() if title else "")
    if path.suffix == ".txt":
        return source, source.split("\n", 1)[0]
    headline = re.search(r"^# (.+)$", source, re.MULTILINE)
    return source, str(frontmatter.loads(source).get("title", "")) or (headline[1] if headline else "")


def test_the_script_makes_the_committed_pdf_byte_for_byte() -> None:
    assert TARGET.read_bytes() == document()


def test_the_pdf_can_be_read_and_has_a_title_and_numbered_pages() -> None:
    with pypdfium2.PdfDocument(document()) as pdf:
        last = [page.get_textpage().get_text_range().split("\r\n")[-1] for page in pdf]
        assert pdf.get_metadata_dict()["Title"] == TITLE
    assert last == ["Page 1 of 3", "Page 2 of 3", "Page 3 of 3"]


def test_characters_that_pdf_strings_reserve_come_back_unchanged() -> None:
    text = "A path such as C:\\logs (with brackets) and a dash – stay as they are."
    with pypdfium2.PdfDocument(document("A (title) \\ 1", text)) as pdf:
        assert text in pdf[0].get_textpage().get_text_range()
        assert pdf.get_metadata_dict()["Title"] == "A (title) \\ 1"


def test_a_character_that_the_pdf_fonts_lack_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        document(text="An arrow → is not in Windows-1252.")


def test_a_heading_is_never_the_last_line_of_a_page() -> None:
    text = "\n\n".join(f"## Heading {number}\n\n{'word ' * (17 * number)}" for number in range(1, 30))
    for page in pages(text):
        assert not page[-1].text.startswith("Heading")


def test_there_are_enough_documents_in_all_four_formats() -> None:
    count = {suffix: sum(path.suffix == suffix for path in DOCUMENTS) for suffix in (".md", ".html", ".txt", ".pdf")}
    assert sum(count.values()) == len(DOCUMENTS) >= 15
    assert count[".md"] >= 10
    assert count[".html"] >= 5
    assert count[".txt"] >= 3
    assert count[".pdf"] >= 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_each_document_has_a_title_and_is_of_a_readable_length(path: Path) -> None:
    text, title = text_and_title(path)
    assert len(title) >= 10
    assert 500 <= len(text.split()) <= 1100


def test_each_title_is_used_once() -> None:
    titles = [text_and_title(path)[1] for path in DOCUMENTS]
    assert len(set(titles)) == len(titles)


def test_each_sample_question_has_at_least_four_documents_and_each_document_a_question() -> None:
    assert {path.name for path in DOCUMENTS} == {name for names in QUESTIONS.values() for name in names}
    assert min(len(names) for names in QUESTIONS.values()) >= 4


def test_each_sample_question_stands_in_the_sample_queue() -> None:
    queue = (CORPUS.parent / "queries.yaml").read_text(encoding="utf-8")
    assert [question for question in QUESTIONS if question not in queue] == []


@pytest.mark.parametrize("quoted", QUOTED, ids=lambda quoted: f"{quoted.file}: {quoted.sentence[:40]}")
def test_each_planted_sentence_stands_in_its_document(quoted: Quoted) -> None:
    assert holds_quote(text_and_title(CORPUS / quoted.file)[0], quoted.sentence)


def test_contradictions_of_all_three_kinds_are_planted_between_different_documents() -> None:
    assert {pair.kind for pair in CONTRADICTIONS} == {"number", "date", "polarity"}
    assert all(pair.a.file != pair.b.file for pair in CONTRADICTIONS)


def test_agreements_join_different_documents() -> None:
    for agreement in AGREEMENTS:
        files = [quoted.file for quoted in agreement.sentences]
        assert len(set(files)) == len(files) >= 2


def test_the_folders_own_readme_is_too_short_to_answer_anything() -> None:
    assert len((CORPUS / "README.md").read_text(encoding="utf-8").split()) < 60
