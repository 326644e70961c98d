"""A faulty template costs nothing but a message that says where and what."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.errors import TemplateInvalid
from pipeline.vault.output.templates import Renderer
from tests.vault.builders import TEMPLATES, Workplace, a_store, change, changed_templates

ROOT = TEMPLATES.parents[1]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("report.md.j2", "# {{ heading }}", "# {{ heading }", r"report\.md\.j2, line 2: "),
        ("report.md.j2", "{% endif %}", "", r"report\.md\.j2, line \d+: "),
        ("night.md.j2", "{{ title }}", "{{ titel }}", r"night\.md\.j2, line 2: 'titel' is undefined; did you mean `title`\?"),
        ("source.md.j2", "number=entry.number", "number=entry.numero", r"line \d+: 'numero' is not .*did you mean `number`\?"),
        ("report.md.j2", "# {{ heading }}", "# {{ 1 + session }}", r"line 2: unsupported .*"),
        ("report.md.j2", "# {{ heading }}", "# {% for x in session %}{% endfor %}", r"line 2: .* is not iterable"),
        ("_worker.md.j2", "| sentence", "| shout", r"_worker\.md\.j2, line \d+: No filter named 'shout'"),
        ("_macros.md.j2", "{{ user_block(\"notes\") }}", "{{ 1 / 0 }}", r"_macros\.md\.j2, line \d+: division by zero"),
        ("_macros.md.j2", "user_block(\"notes\")", "user_block(\"My notes\")", r"_macros\.md\.j2, line \d+: .*My notes"),
        ("session.md.j2", '## {{ t("Plan', "{{ m.own_notes() }}", r"session\.md\.j2.*second block “notes”"),
        ("home.md.j2", '"_macros.md.j2"', '"_macro.md.j2"', r"_macro\.md\.j2: is missing"),
        ("home.md.j2", "{{ title }}", "{{ none }}", r"home\.md\.j2, line 2: .*None"),
    ],
)  # fmt: skip
def test_a_faulty_template_is_named_with_its_line_and_nothing_is_written(
    place: Workplace, file: str, old: str, new: str, said: str
) -> None:
    before = place.files()
    (place.templates / "topic.md.j2").write_text("Edited.")
    change(place.templates / file, old, new)
    with pytest.raises(TemplateInvalid, match=said) as caught:
        place.build()
    assert place.files() == before
    assert "no note was changed" in caught.value.hint
    assert re.search(r"while writing [\w/-]+\.md", caught.value.message)


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "w", a_store(), changed_templates(tmp_path / "t"))
    (place.templates / "source.md.j2").unlink()
    with pytest.raises(TemplateInvalid, match=r"source\.md\.j2: is missing"):
        place.build()
    assert not place.vault.exists()


def test_the_readme_lists_exactly_what_each_template_is_given(tmp_path: Path) -> None:
    readme = (ROOT / "templates" / "README.md").read_text()
    _, notes = Workplace(tmp_path, a_store()).build_and_note()
    for kind, view in {note.kind: note.view for note in notes}.items():
        section = re.search(rf"(?ms)^### `{kind}\.md\.j2`\n(.*?)(?=^##|\Z)", readme)
        assert section is not None
        assert re.findall(r"(?m)^\| `(\w+)` \|", section[1]) == [*view], kind


def test_the_readme_lists_the_filters() -> None:
    readme = (ROOT / "templates" / "README.md").read_text()
    filters = re.search(r"(?ms)^## Filters\n(.*?)(?=^## )", readme)
    assert filters is not None
    assert re.findall(r"(?m)^\| `(\w+)` \|", filters[1]) == [*Renderer(ROOT / "templates" / "vault").filters]
