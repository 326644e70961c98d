"""A report's blocks in its note: steps, bullets, a table, code, and the mark of what is derived."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.vault.note import Note
from pipeline.vault.notes.parts import Block, Cited
from pipeline.vault.output.escaping import Inert, Link, fenced
from pipeline.vault.output.templates import Renderer

TEMPLATES = Path(__file__).resolve().parents[3] / "templates" / "vault"
CITE = Link("sources/2026-11/a", "¹", "q-1")
MARK = "[[sources/2026-11/a#^q-1|¹]]"


def rendered(block: Block) -> str:
    with TemporaryDirectory() as folder:
        Path(folder, "_macros.md.j2").write_bytes((TEMPLATES / "_macros.md.j2").read_bytes())
        Path(folder, "home.md.j2").write_text('{% import "_macros.md.j2" as m %}\n{{ m.paragraph(said) }}\n')
        return Renderer(Path(folder)).render(Note("Home", "home", {}, {"said": block})).strip()


def test_each_form_is_markdown_with_its_citations() -> None:
    one, two = Cited(Inert("First."), (CITE,)), Cited(Inert("Then."), (CITE,), derived=True)
    assert rendered(Block((one, two))) == f"First.{MARK} Then. ∴ {MARK}"
    first, second = replace(one, number=3), replace(two, number=4)
    assert rendered(Block((first, second), "steps")) == f"3. First.{MARK}\n4. Then. ∴ {MARK}"
    assert rendered(Block((first, two, second), "bullets")) == f"- First.{MARK} Then. ∴ {MARK}\n- Then. ∴ {MARK}"
    nested = rendered(Block((first, replace(two, nested=True), second), "steps"))
    assert nested == f"3. First.{MARK}\n   - Then. ∴ {MARK}\n4. Then. ∴ {MARK}"


def test_a_row_ends_in_its_citations_and_code_is_followed_by_them() -> None:
    row = Cited(Inert("a"), (CITE,), cells=(Inert("a"), Inert("`b`")))
    cell_mark = MARK.replace("|", "\\|")
    table = rendered(Block((row,), "table", (Inert("A"), Inert("B"))))
    assert table == f"| A | B |\n| --- | --- |\n| a | `b`{cell_mark} |"
    marked = replace(row, cell_marks=((CITE,), ()))
    assert rendered(Block((marked,), "table", (Inert("A"), Inert("B")))).endswith(f"| a{cell_mark} | `b` |")
    code = rendered(Block((Cited(Inert(""), (CITE,), lines=tuple(fenced("a = 1\nb = 2"))),), "code"))
    assert code == f"```\na = 1\nb = 2\n```\n\nFrom {MARK}"
