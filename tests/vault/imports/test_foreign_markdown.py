from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.imports.foreign_markdown import foreign_markdown

WHOLE = """\
# Tides

Water **rises** and *falls* twice a day, see [the table](https://example.org/t).

1. first
2. second
   - inside

> said somebody

| day | height |
| --- | --- |
| Monday | 3 \\| 4 m |

```js
dataviewjs <% x %>
```
"""


def test_headings_lists_tables_quotes_and_code_stay_what_they_are() -> None:
    assert str(foreign_markdown(WHOLE)).split("\n") == [
        "### Tides",
        "",
        "Water **rises** and *falls* twice a day, see the table (https\\://example.org/t).",
        "",
        "1. first",
        "2. second",
        "    - inside",
        "",
        "> said somebody",
        ">",
        "",
        "| day | height |",
        "| --- | --- |",
        "| Monday | 3 \\| 4 m |",
        "",
        "```",
        "dataviewjs <\u200b% x %>",
        "```",
    ]


@pytest.mark.parametrize(
    "text",
    ["[[Home]]", "![[x]]", "`= 1`", "`$= x`", "%% begin notes %%", "#tag here", "<script>x</script>", "![x](https://example.org/a.png)",
     "key:: value", "text ^block", "<% tp %>", "---\nkey: x\n---", "[x](obsidian://open)", "- [ ] a task"],
)  # fmt: skip
def test_what_obsidian_would_obey_does_nothing(text: str) -> None:
    shown = str(foreign_markdown(text))
    unescaped = re.sub(r"\\.", "", shown)
    for sign in ("[[", "![", "`=", "`$=", "%%", "<script", "<%", "](", "[ ]", "#tag", "::", "^block"):
        assert sign not in unescaped
    assert "\n---\n" not in f"\n{shown}\n"


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet=st.sampled_from("#*-_`|[]()!<>%=:^~\\ \n\t1.ax>"), max_size=60))
def test_any_text_gives_markdown_without_active_signs(text: str) -> None:
    outside = re.sub(r"(?ms)^(`{3,})\n.*?^\1$", "", re.sub(r"(?m)^(?:> ){1,2}", "", str(foreign_markdown(text))))
    for sign in ("[[", "![[", "%%", "<%"):
        assert sign not in outside
