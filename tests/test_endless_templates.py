"""A template that does not end, or grows without end, is named, and the night goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from pipeline.system.templates import TemplateEnvironment, TooMuch, bounded
from pipeline.vault.output.templates import _NoteEnvironment
from tests.commanding import copied_templates, said, workspace_in

ENDLESS = {
    "a long loop": "{% for n in range(10 ** 12) %}{% endfor %}",
    "loops in loops": "{% for a in range(9 ** 6) %}{% for b in range(9 ** 6) %}x{% endfor %}{% endfor %}",
    "a long sum": "{{ range(10 ** 12) | sum }}",
    "a long list": "{{ [[1, 2]] | batch(10 ** 12, 0) | list }}",
    "many slices": "{{ [1] | slice(10 ** 12) | list }}",
    "a long text": '{{ "a" * 10 ** 12 }}',
    "a padded text": '{{ "a" | center(10 ** 12) }}',
    "a text that doubles": "{% set n = namespace(s='a') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "a large note": "{% set x = 'a' * 40000000 %}{{ x }}",
    "a large power": "{{ 10 ** (10 ** 9) }}",
    "squares of squares": "{% set n = namespace(i=9) %}{% for i in range(99) %}{% set n.i = n.i * n.i %}{% endfor %}",
    "a macro in itself": "{% macro again(n) %}{{ again(n) }}{% endmacro %}{{ again(1) }}",
    "macros that double": "{% macro twice(n) %}{% if n %}{{ twice(n - 1) }}{{ twice(n - 1) }}{% endif %}{% endmacro %}"
    "{{ twice(60) }}",
    "a template in itself": "{% include 'NAME' %}",
}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.system.templates.TEMPLATE_S", 0.2)
    monkeypatch.setattr("pipeline.system.templates.TEMPLATE_BYTES", 100_000_000)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("environment", [_NoteEnvironment, TemplateEnvironment])
@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS.keys())
def test_what_does_not_end_is_ended(endless: str, environment: type[Environment]) -> None:
    templates = environment(loader=DictLoader({"NAME": endless}))
    with pytest.raises((TooMuch, RecursionError)), bounded() as sized:
        sized(templates.get_template("NAME").render())


@pytest.mark.parametrize("environment", [_NoteEnvironment, TemplateEnvironment])
def test_what_ends_is_as_it_would_be_without_bounds(environment: type[Environment]) -> None:
    source = "{{ 'ab' * 3 }} {{ 2 ** 10 }} {{ range(3) | list }} {{ -3 * 7 }} {{ 'x'.upper() }} {{ 2 ** -1 }}"
    with bounded() as sized:
        assert sized(environment().from_string(source).render()) == "ababab 1024 [0, 1, 2] -21 X 0.5"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("part", "name"), [("vault", "night.md.j2"), ("site", "night.html.j2")])
def test_a_template_without_end_is_named_and_the_night_goes_on(tmp_path: Path, part: str, name: str) -> None:
    folder = workspace_in(tmp_path / "workspace", "  - {query: How deep is the harbour?, id: depth, mode: fast}\n")
    copied_templates(folder)
    (folder / "templates" / part / name).write_text(f"{{# one #}}\n{ENDLESS['loops in loops']}")
    told = said(folder, "-q", "run")
    assert told.code == 2
    assert f"{name}, line 2: it does not come to an end" in told.err
    assert "1 with passages" in told.out


@pytest.mark.parametrize(
    ("part", "texts", "place"),
    [
        ("vault", {"night.md.j2": "{# one #}\n{% include 'night.md.j2' %}"}, "night.md.j2, line 2"),
        (
            "vault",
            {"night.md.j2": "{% include 'inner.md.j2' %}", "inner.md.j2": "\n{% include 'inner.md.j2' %}"},
            "inner.md.j2, line 2",
        ),
        ("site", {"night.html.j2": "{# one #}\n{% include 'night.html.j2' %}"}, "night.html.j2, line 2"),
    ],
)
def test_a_template_that_includes_itself_is_named(tmp_path: Path, part: str, texts: dict[str, str], place: str) -> None:
    folder = workspace_in(tmp_path / "workspace", "  - {query: How deep is the harbour?, id: depth, mode: fast}\n")
    assert said(folder, "-q", "run").code == 0
    copied_templates(folder)
    for name, text in texts.items():
        (folder / "templates" / part / name).write_text(text)
    told = said(folder, "build")
    assert told.code == 2
    (message, advice) = told.err.splitlines()
    assert f"{place}: it includes or calls itself without end" in message
    assert advice.startswith("  →")
