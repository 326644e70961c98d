"""What is read of a note besides its HTML, which ``golden/site/my/signs.html`` shows."""

from __future__ import annotations

from tests.site.scratch import read


def test_what_a_passage_says_describes_a_report_and_not_its_boxes_or_its_place() -> None:
    draft = read("> [!abstract] Nearest\n> > The words.\n> >\n> > — [[a|A place]]\n> >\n> > - [ ] useful\n> > - [ ] wrong\n")
    assert draft.summary == "The words."
    assert "useful" not in "".join(draft.text)


def test_the_text_of_a_marked_block_can_be_quoted() -> None:
    draft = read("> “Quoted *words*.”\n\n^q-1\n\nPlain text. ^q-2\n")
    assert draft.blocks == {"q-1": "Quoted words.", "q-2": "Plain text."}
