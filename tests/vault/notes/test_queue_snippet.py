"""Open questions as lines of the queue: read back as they were, and nothing else in a note."""

from __future__ import annotations

import re

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pipeline.config.queue_file import parse
from pipeline.text.normalise import clean
from pipeline.vault.notes.parts import queue_lines
from tests.vault.output.test_escaping import HOSTILE, anything

questions = st.lists(st.one_of(anything, st.sampled_from(HOSTILE), st.text(max_size=1_200)), max_size=4)
tags = st.lists(st.one_of(st.text(alphabet="abc xyz-#[]{},:'\"", max_size=12), st.sampled_from(HOSTILE)), max_size=3)


def _lines(asked: list[str], tagged: list[str]) -> str:
    return "".join(f"{line}\n" for line in queue_lines(asked, tagged))


@settings(deadline=None)
@given(questions, tags)
@example(["yes", "no", "12:30", "1234e56", "~", "- a: b # c", "C# & *x !y %z @w `v` | > ' \" \\"], [])
@example(["a", "a", " ", "b"], ["x", "x", ""])
def test_every_reader_of_yaml_reads_the_questions_back(asked: list[str], tagged: list[str]) -> None:
    wanted = list(dict.fromkeys(" ".join(clean(question).split())[:1_000].strip() for question in asked))
    lines = _lines(asked, tagged)
    found = [yaml.safe_load(lines), YAML(typ="safe", pure=True).load(lines)] if lines else [[]]
    for entries in found:
        said = [entry["query"] if isinstance(entry, dict) else entry for entry in entries]
        assert said == [question for question in wanted if question]
        assert all(isinstance(question, str) for question in said)


@settings(deadline=None)
@given(questions, tags)
def test_the_lines_do_nothing_in_a_note(asked: list[str], tagged: list[str]) -> None:
    for line in queue_lines(asked, tagged):
        assert re.match(r'  - (query: )?"|    tags: \["', line)
        assert not re.search(r"<%|%>|%%|::|\[\[|\]\]|!\[|`|\{\{|\}\}|\n", line)


def test_copied_below_queries_they_are_a_queue() -> None:
    lines = _lines(["What is a “torn” write? {x} [[y]]", "Does it hold: yes or no?"], ["crash-safety", "no tag", "disks", "12"])
    queue, faults = parse(f"queries:\n{lines}".encode())
    assert faults == ()
    assert [query.text for query in queue.queries] == ["What is a “torn” write? {x} [[y]]", "Does it hold: yes or no?"]
    assert {query.tags for query in queue.queries} == {("crash-safety", "disks")}
