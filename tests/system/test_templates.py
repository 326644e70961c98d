"""Which templates are read, what their versions follow, and what an error says."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2.exceptions import SecurityError

from pipeline.errors import TemplateInvalid
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder
from pipeline.vault.output.escaping import Inert

ADVICE = Advice("README.md", "nothing was changed")
WORDS = {
    "base.j2": "<{% block all %}{% endblock %}>",
    "page.j2": "{% extends 'base.j2' %}{% block all %}{{ word }}{% endblock %}",
}


def templates_in(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in (texts or WORDS).items():
        (folder / name).write_text(text)
    return folder


def opened(folder: Path) -> TemplateFolder:
    return TemplateFolder(folder, TemplateEnvironment(autoescape=True), ADVICE)


def test_a_version_follows_what_a_template_draws_on(tmp_path: Path) -> None:
    folder = templates_in(tmp_path / "t", **WORDS, **{"other.j2": "x", "computed.j2": "{% include name %}"})
    before = {name: opened(folder).version_of(name) for name in sorted(path.name for path in folder.iterdir())}
    (folder / "base.j2").write_text("other")
    after = {name: opened(folder).version_of(name) for name in before}
    assert {name for name in before if before[name] != after[name]} == {"base.j2", "page.j2", "computed.j2"}


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    folder = templates_in(tmp_path / "t")
    (folder / "base.j2").unlink()
    with pytest.raises(TemplateInvalid, match=r"base\.j2: is missing") as caught:
        opened(folder).render("page.j2", {}, "page")
    assert "nothing was changed" in caught.value.hint


def test_a_template_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.j2").write_text("secret")
    folder = templates_in(tmp_path / "t", **{"page.j2": "{% include '../secret.j2' %}"})
    with pytest.raises(TemplateInvalid, match="is missing"):
        opened(folder).render("page.j2", {}, "page")


def test_a_text_of_the_program_formats_nothing_private() -> None:
    asked = TemplateEnvironment().from_string("{{ words.format(words) }}")
    with pytest.raises(SecurityError):
        asked.render(words=Inert("{0.__class__}"))
