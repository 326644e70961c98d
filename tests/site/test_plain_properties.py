"""Properties in plain form are read as a YAML reader reads them."""

from __future__ import annotations

from typing import Any

import frontmatter
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.site.plain_properties import split_plain
from pipeline.vault.output.frontmatter import emit

LINES = st.one_of(
    st.sampled_from(
        [
            "no: 1", "Title:", "a:", "  - x", '  - "x"', "  - 12", "tags: []", "a: 010", "a: -0", "a: 0", "a: 1_000", "a: 12:30",
            "a: 1.5", "a: 1e5", "a: .5", "a: 5.", "a: true", "a: True", "a: yes", "a: 2026-11-21", "a: 2026-13-41", "a: ~",
            "a: 2026-11-21T02:15:00", "a: 2026-11-21T02:15:00Z", "a: 2026-11-21T25:15:00", 'a: "x" # no', "# no", "",
            'a: "\\u00e9"', 'a: "½ “é”"', "a: 'x'", 'a:  "x"', 'a: "x" ', 'a :"x"', '"a": 1', "---", "a: |", "    - deep", "- x",
        ]
    ),
    st.text(alphabet='ab:-"#0 1.T', max_size=8),
    st.builds('k: "{}"'.format, st.text(max_size=8)),
)  # fmt: skip


def _slowly(text: str) -> tuple[dict[str, Any], str] | None:
    try:
        post = frontmatter.loads(text)
    except (yaml.YAMLError, ValueError, AttributeError, TypeError):
        return None
    return {str(name): value for name, value in post.metadata.items()}, post.content


@given(st.lists(LINES, max_size=6), st.sampled_from(["", "Body.", "\n\n# Title\n\n---\n\nx\n", "\n--- \n"]))
@example(["no: 1"], "")
@example(['a: "x"', "b:", '  - "y"', "  - 2", "c: 1"], "\n\nBody. \n")
def test_what_is_read_quickly_is_what_yaml_says(lines: list[str], body: str) -> None:
    text = "\n".join(["---", *lines, "---", body])
    found = split_plain(text)
    assert found is None or found == _slowly(text)
    assert found is None or list(map(type, found[0].values())) == [
        type(value) for value in (_slowly(text) or ({}, ""))[0].values()
    ]


def test_the_properties_that_the_vault_writes_are_of_the_plain_form() -> None:
    written = emit({"title": "What is “new”?", "tags": ("research/report", "x"), "cost_usd": 0.25, "facts": 12, "archived": True})
    assert split_plain(f"---\n{written}created: 2026-11-21T02:15:00\n---\n\nText.\n") is not None


@pytest.mark.parametrize("text", ["", "Text.", "---\n", "---\r\na: 1\r\n---\r\n", "---\n---\n", "\ufeff---\na: 1\n---\nx"])
def test_what_is_not_of_that_form_is_left_to_the_yaml_reader(text: str) -> None:
    assert split_plain(text) is None
