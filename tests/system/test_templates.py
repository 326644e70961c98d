"""Templates are compiled once, kept where only their user can write, and never trusted beyond that."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import TemplateInvalid
from pipeline.system.templates import Advice, TemplateEnvironment, TemplateFolder

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


def opened(folder: Path, compiled: Path | None) -> TemplateFolder:
    return TemplateFolder(folder, TemplateEnvironment(autoescape=True), ADVICE, compiled)


def rendered(folder: Path, compiled: Path | None) -> tuple[str, int]:
    """A page, and how many templates were compiled for it."""
    with mock.patch.object(TemplateEnvironment, "compile", autospec=True, side_effect=TemplateEnvironment.compile) as compiling:
        text = opened(folder, compiled).render("page.j2", {"word": "a & b"}, "page")
    return text, compiling.call_count


def test_a_template_is_compiled_once_for_all_builds(tmp_path: Path) -> None:
    folder, compiled = templates_in(tmp_path / "t"), tmp_path / "cache"
    assert rendered(folder, compiled) == ("<a &amp; b>", 2)
    assert rendered(folder, compiled) == ("<a &amp; b>", 0)


def test_an_edited_template_is_compiled_again(tmp_path: Path) -> None:
    folder, compiled = templates_in(tmp_path / "t"), tmp_path / "cache"
    rendered(folder, compiled)
    (folder / "base.j2").write_text("[{% block all %}{% endblock %}]")
    assert rendered(folder, compiled) == ("[a &amp; b]", 1)


def test_no_code_is_run_from_a_folder_that_others_may_write_in(tmp_path: Path) -> None:
    folder, compiled = templates_in(tmp_path / "t"), tmp_path / "cache"
    rendered(folder, compiled)
    compiled.chmod(0o777)
    assert rendered(folder, compiled) == ("<a &amp; b>", 2)


def test_without_a_folder_to_keep_them_in_templates_are_compiled_each_time(tmp_path: Path) -> None:
    folder = templates_in(tmp_path / "t")
    (tmp_path / "file").write_text("")
    for nowhere in (None, tmp_path / "file" / "cache"):
        assert [rendered(folder, nowhere)[1] for _ in range(2)] == [2, 2]


@given(st.binary(max_size=200), st.integers(0, 300))
def test_a_damaged_compiled_template_is_compiled_again(tmp_path_factory: pytest.TempPathFactory, noise: bytes, kept: int) -> None:
    tmp_path = tmp_path_factory.mktemp("damaged")
    folder, compiled = templates_in(tmp_path / "t"), tmp_path / "cache"
    rendered(folder, compiled)
    head = 60  # what Jinja checks before it reads code: its magic number and the checksum
    for file in compiled.iterdir():
        data = file.read_bytes()
        file.write_bytes(data[: min(kept, head)] + (noise if kept < head else b""))
    assert rendered(folder, compiled)[0] == "<a &amp; b>"


def test_another_version_of_what_compiles_uses_nothing_of_the_old(tmp_path: Path) -> None:
    folder, compiled = templates_in(tmp_path / "t"), tmp_path / "cache"
    rendered(folder, compiled)
    with mock.patch("jinja2.__version__", "99"):
        assert rendered(folder, compiled)[1] == 2


def test_a_version_follows_what_a_template_draws_on(tmp_path: Path) -> None:
    folder = templates_in(tmp_path / "t", **WORDS, **{"other.j2": "x", "computed.j2": "{% include name %}"})
    before = {name: opened(folder, None).version_of(name) for name in sorted(path.name for path in folder.iterdir())}
    (folder / "base.j2").write_text("other")
    after = {name: opened(folder, None).version_of(name) for name in before}
    assert {name for name in before if before[name] != after[name]} == {"base.j2", "page.j2", "computed.j2"}


def test_a_missing_parent_is_named_before_anything_is_rendered(tmp_path: Path) -> None:
    folder = templates_in(tmp_path / "t")
    (folder / "base.j2").unlink()
    with pytest.raises(TemplateInvalid, match=r"base\.j2: is missing") as caught:
        opened(folder, None).check("page.j2")
    assert "nothing was changed" in caught.value.hint


def test_a_template_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.j2").write_text("secret")
    folder = templates_in(tmp_path / "t", **{"page.j2": "{% include '../secret.j2' %}"})
    with pytest.raises(TemplateInvalid, match="is missing"):
        opened(folder, None).render("page.j2", {}, "page")
