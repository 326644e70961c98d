"""The text format of stored pages, read back block by block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.passages import blocks

PAGE = """# Title

Before the first section.

## Setting up {#setup}

A paragraph
over two lines.

- first item
- second item

### Deeper

```
# not a heading

- not an item
```

## Later {#later}

| a | b |
| 1 | 2 |
"""


def test_each_block_knows_its_kind_its_heading_and_its_anchor() -> None:
    assert [(b.kind, b.text, b.heading, b.anchor, b.level) for b in blocks(PAGE)] == [
        ("heading", "Title", "Title", "", 1),
        ("paragraph", "Before the first section.", "Title", "", 0),
        ("heading", "Setting up", "Setting up", "setup", 2),
        ("paragraph", "A paragraph over two lines.", "Setting up", "setup", 0),
        ("item", "first item", "Setting up", "setup", 0),
        ("item", "second item", "Setting up", "setup", 0),
        ("heading", "Deeper", "Deeper", "", 3),
        ("code", "# not a heading\n\n- not an item", "Deeper", "", 0),
        ("heading", "Later", "Later", "later", 2),
        ("row", "| a | b |", "Later", "later", 0),
        ("row", "| 1 | 2 |", "Later", "later", 0),
    ]


@given(st.text(st.sampled_from("#-|` \nab{}\t"), max_size=60))
def test_no_text_makes_it_fail_and_every_word_stays(text: str) -> None:
    found = list(blocks(text))
    letters = "".join(c for b in found for c in b.text + b.anchor if c in "ab")
    if "```" not in text:
        assert letters == "".join(c for c in text if c in "ab")
    for block in found:
        assert block.path == () or block.path[-1] == block.heading


WORDS = st.text("abc", min_size=1, max_size=6)
LINE = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
BLOCK = st.one_of(
    st.tuples(st.just("paragraph"), LINE),
    st.tuples(st.just("code"), st.lists(LINE | st.just(""), min_size=1, max_size=3).map("\n".join)),
    st.tuples(st.just("item"), LINE),
    st.tuples(st.just("row"), LINE.map(lambda line: f"| {line} |")),
    st.tuples(st.just("heading"), LINE),
)


def written(kind: str, text: str) -> str:
    return {"heading": f"## {text} {{#x-1}}", "item": f"- {text}", "code": f"```\n{text}\n```"}.get(kind, text)


@given(st.lists(BLOCK, max_size=8))
def test_what_is_written_as_blocks_is_read_as_the_same_blocks(parts: list[tuple[str, str]]) -> None:
    text = "\n\n".join(written(kind, body) for kind, body in parts)
    assert [(block.kind, block.text) for block in blocks(text)] == parts
