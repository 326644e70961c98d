"""Files that other readers were reported to lose or to change, each with what must be read from it, and what must not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.documents.extract import extract
from pipeline.text.passages import what_is_missing

CASES = Path(__file__).parent / "cases"
# file, what its page holds, what it does not hold
EXPECTED = [
    ("mathml-tex.html", r"4\.7\\times 10\^\{-5\}", r"10−5|4\.7.*4\.7"),
    ("fraction.html", r"is 3/4 by definition", r"34"),
    ("line-numbers.html", r"primer --volume 40\nsleep 12", r"(?m)^\s*[123]$"),
    ("links-in-cells.html", r"Dunlin \| Pask \| 5\.1 m", r"\A\Z"),
    ("aside.html", r"at least 12 GB of free memory", r"\A\Z"),
    ("tabs.html", r"Windows\n\nOn Windows, run winget install Petrel\.Core\.", r"\[hidden\]"),
    ("toctree.html", r"480 threads of linen.*\n\n## 2\. Care", r"\A\Z"),
    ("gb2312.html", r"最大水深为四十二米", r"�"),
    ("latin-2.html", r"głębokość jeziora Żółtego", r"�"),
    ("utf-16.txt", r"greatest depth of Lake Egret is 42 metres", r"\0"),
    ("colon-in-title.md", r"\A# Sanderling: the survey of 2024\n.*318 nests", r"author:"),
    ("footnote.md", r"two stages\. Its lantern is older\.\n\n\[1\] The first stage, of 1711, reached 27 metres", r"\[\^1\]"),
    ("toml.md", r"\A# Godwit ferry timetable\n\nThe last ferry leaves Godwit at 21:40", r"\+\+\+|draft"),
    ("conflict.md", r"2\.4 metres.*\n\n.*2\.9 metres", r"<<<<|>>>>|===="),
    ("template-tags.md", r"closed on Mondays.*Ice.*below minus 9 degrees.*open-dam --now", r"\{\{<|\{%|!!!"),
    (
        "commands.rst",
        r"\A# Keeping copies\n.*```\ncopy create --all\n\n# keep a week\ncopy prune\n```.*```\ncopy list\n```.*Petrel \| 318",
        r"\.\.|::|==|`_",
    ),
    (
        "definitions.rst",
        r"lantern \[1\] is older.*- \[1\]: It is of 1711\..*- keep: how many days\n- light\(tower\): Lights it\.",
        r"<|Only for",
    ),
    ("definitions.rst", r"Lights it\.\n- -k, --keep DAYS: how many", r"module"),
    ("definitions.rst", r"- light\.delay: The longest wait.*### wick .*\n\n- default: 4\n\nHow many threads", r"graphviz"),
    (
        "definitions.rst",
        r"since version 3\.1: Take the lens\.\n\n```\nlight: lens \| wick\n```\n\n- About the lens of both: ",
        r"light\.delay\n|: lights|digraph",
    ),
    ("chinese.md", r"最大水深为四十二米。", r"\A\Z"),
    ("korean.md", r"최대 수심은 42미터이다", r"\A\Z"),
    ("decomposed.md", r"Hütte", "[\u0300-\u036f]"),
    ("arabic.pdf", r"أقصى عمق للبحيرة هو 42 متراً، وتُفرَّغ كل نيسان\.", r"ةنيدملا"),
    ("two-columns-by-rows.pdf", r"plots was visited four times, and the warden counted 1,284 nests", r"began in The second"),
    ("half-scanned.pdf", r"the dam is 33 metres long", r"\A\Z"),
]


@pytest.mark.parametrize(("name", "holds", "holds_not"), EXPECTED)
def test_a_file_that_others_misread_is_read_as_it_is_meant(name: str, holds: str, holds_not: str) -> None:
    text = extract((CASES / name).read_bytes(), path=name).text
    assert re.search(holds, text, re.DOTALL), text
    assert not re.search(holds_not, text), text


@pytest.mark.parametrize(
    ("numbers", "said"),
    [((100, 50, 0), ""), ((1000, 49, 0), "only 49 of its 1,000 words are stored"), ((9, 9, 1), "one of its pages holds no text"),
     ((100, 9, 3), "only 9 of its 100 words are stored; 3 of its pages hold no text"), ((0, 0, 0), "")],
)  # fmt: skip
def test_what_a_stored_text_lacks_is_said_when_it_is_much(numbers: tuple[int, int, int], said: str) -> None:
    assert what_is_missing(*numbers).startswith(said)
    assert bool(what_is_missing(*numbers)) == bool(said)


def test_pages_without_text_are_counted() -> None:
    assert extract((CASES / "half-scanned.pdf").read_bytes(), path="x.pdf").empty_pages == 2
