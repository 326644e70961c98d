"""Every fault of queries.yaml, with the exact place where it is reported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import time, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pipeline.config.queue_file import checked, contents, parse
from pipeline.config.queue_schema import Limits, ModelChoice, Price, Query, QueryLimits
from pipeline.errors import NoWorkspace, QueueInvalid

LIST = "queries:\n"

# The file, the place of its only fault, and words of message and hint.
FAULTS: list[tuple[str | bytes, int, int, str, str]] = [
    # the file as a whole
    ("", 1, 1, "list of questions is missing", "`queries:`"),
    ("- a\n- b\n", 1, 1, "list of questions is missing", "`queries:`"),
    ("settings:\n  corpus: x\n", 1, 1, "list of questions is missing", "`queries:`"),
    ("queries: Why?\n", 1, 10, "where the list of questions belongs", "`- `"),
    ("query: [a]\nqueries: [b]\n", 1, 1, '"query" is not known', "did you mean queries?"),
    (LIST + "- a\n---\nqueries: [b]\n", 3, 1, "second document", "remove"),
    (LIST + "- a\nqueries: [b]\n", 3, 1, "is given twice, first in line 1", "keep one"),
    (LIST + "- " + "[" * 30 + "]" * 30 + "\n", 2, 3, "a list where one value belongs", "write a question"),
    (b"queries:\n- caf\xe9\n", 2, 6, "not UTF-8", "UTF-8"),
    (b"queries:\n- a\0b\n", 2, 4, "a control character, or a byte that is not UTF-8 (U+0000)", "delete"),
    (LIST + "- a\x07b\n", 2, 4, "(U+0007)", "delete"),
    (LIST + '- "a\\u0007b"\n', 2, 3, "control character (U+0007)", "delete"),
    # text that is not what it looks like
    (LIST + "- no\n", 2, 3, "yes/no", 'write "no"'),
    (LIST + "- 12:30\n", 2, 3, "a number", 'write "12:30"'),
    (LIST + "- 42\n", 2, 3, "a number", 'write "42"'),
    (LIST + "- 2026-11-21\n", 2, 3, "a date", 'write "2026-11-21"'),
    (LIST + "- null\n", 2, 3, "is nothing", 'write "null"'),
    (LIST + "- What is new in C #12?\n", 2, 3, 'ends at "What is new in C"', "quotes"),
    (LIST + "- #hashtags, do they work?\n", 2, 2, 'ends at ""', "quotes"),
    (LIST + "- Rust: is it faster?\n", 2, 3, "a key and its value", "quotes"),
    (LIST + "- query: Rust: is it faster?\n", 2, 14, "a colon and a space", "quotes"),
    (LIST + "- Why?\n  - How?\n", 2, 3, "two lines are read as one", "one column"),
    (LIST + "- [draft] Why?\n", 2, 11, "more text after", "quotes"),
    (LIST + "- [draft]\n", 2, 3, "a list where one value belongs", "write a question"),
    (LIST + '- "Why" so?\n', 2, 9, "more text after", "quotes"),
    (LIST + "- 'Why?\n", 2, 3, "never closed", "close"),
    (LIST + "- {Why?\n", 2, 3, "not closed", "}"),
    (LIST + "- @home, is it safe?\n", 2, 3, "start with @", "quotes"),
    (LIST + "- > 5 what?\n", 2, 3, "start with >", "quotes"),
    (LIST + "- &anchor Why?\n", 2, 3, "start with &", "quotes"),
    (LIST + "- *alias\n", 2, 3, "start with *", "quotes"),
    (LIST + "- !important Why?\n", 2, 3, "start with !", "quotes"),
    (LIST + '- "a\\qb"\n', 2, 5, "unknown escape", "backslash twice"),
    (LIST + "- query: a\n  <<: {mode: fast}\n", 3, 3, '"<<" is not known', "known are"),
    (LIST + "- query: a\n\tmode: fast\n", 3, 1, "a tab", "spaces"),
    (LIST + "- query: a\n  \tmode: fast\n", 3, 3, "a tab", "spaces"),
    (LIST + "- a\nwhy\n", 3, 1, "without its colon", "key: value"),
    # entries
    (LIST + "- tags: [a]\n  query: b: c\n", 3, 11, "a colon and a space", "quotes"),
    (LIST + "- ''\n", 2, 3, "an empty text", "write a question"),
    (LIST + "-\n", 2, 2, "an empty text", "write a question"),
    (LIST + '- "\\u200b"\n', 2, 3, "no letter and no digit", "write a question"),
    (LIST + "- query:\n", 2, 9, "query has no value", "remove the line"),
    (LIST + "- tags: [a]\n", 2, 3, "query is missing here", "{query: …}"),
    (LIST + "- query: [a]\n", 2, 10, "a list where one value belongs", "write a question"),
    (LIST + "- " + "a" * 1_001 + "\n", 2, 3, "1,001 characters", "1,000"),
    (LIST + "- qeury: a\n", 2, 3, '"qeury" is not known', "did you mean query?"),
    (LIST + "- query: a\n  piority: 1\n", 3, 3, '"piority" is not known', "did you mean priority?"),
    (LIST + "- query: a\n  zzz: 1\n", 3, 3, '"zzz" is not known', "known are: query, id"),
    (LIST + "- query: a\n  [b]: 1\n", 3, 3, "a list where one value belongs", "write a key"),
    (LIST + "- query: a\n  mode: fast\n  mode: deep\n", 4, 3, "twice, first in line 3", "keep one"),
    (LIST + "- query: a\n  id: A_b\n", 3, 7, '"A_b" is no id', "a-z, 0-9 and -"),
    (LIST + f"- query: a\n  id: {'a' * 49}\n", 3, 7, "is no id", "at most 48"),
    (LIST + "- query: a\n  mode: deap\n", 3, 9, '"deap" is not known', "did you mean deep?"),
    (LIST + "- query: a\n  every: 7\n", 3, 10, "not a length of time", "7d"),
    (LIST + "- query: a\n  every: 999999d\n", 3, 10, "from 1s to 3650d", "7d"),
    (LIST + "- query: a\n  tags: policy\n", 3, 9, "where a list belongs", "[policy"),
    (LIST + "- query: a\n  tags: [no]\n", 3, 10, "yes/no", 'write "no"'),
    (LIST + "- query: a\n  tags: ['b c']\n", 3, 10, "is no tag", "letters"),
    (LIST + "- query: a\n  tags: ['2026']\n", 3, 10, "is no tag", "one letter"),
    (LIST + "- query: a\n  priority: high\n", 3, 13, '"high" is not a whole number from -1000', "whole number"),
    (LIST + f"- query: a\n  priority: {'9' * 5000}\n", 3, 13, "is not a whole number", "whole number"),
    (LIST + "- query: a\n  iterations: 0\n", 3, 15, '"0" is not a whole number from 1 to 20', "from 1 to 20"),
    (LIST + "- query: a\n  gap_rounds: -1\n", 3, 15, '"-1" is not a whole number from 0', "from 0"),
    (LIST + "- query: a\n  budget_usd: 0.00\n", 3, 15, "not an amount above zero", "2.50"),
    (LIST + "- query: a\n  search: local\n", 3, 11, "local", "[local]"),
    (LIST + "- query: a\n  search: []\n", 3, 11, "an empty list", "[local]"),
    (LIST + "- query: a\n  search: [wikipeda]\n", 3, 12, '"wikipeda" is not known', "did you mean wikipedia?"),
    (LIST + "- query: a\n  in: ../notes\n", 3, 7, '"../notes" is no folder of your documents', "write a folder"),
    (LIST + "- query: a\n  approve: report\n", 3, 12, '"report" is not known', "write plan"),
    # ids that clash
    (LIST + "- query: '?!'\n", 2, 10, "no letter and no digit", "write a question"),
    (LIST + "<<<<<<< ours\n- a\n=======\n- b\n>>>>>>> theirs\n", 2, 1, "conflict marks of git", "delete the lines"),
    (LIST + "- a b\n- query: c\n  id: a-b\n", 3, 3, "the id a-b is taken by line 2", "another id"),
    (LIST + "- query: a\n  id: x\n- query: b\n  id: x\n", 4, 3, "the id x is taken by line 2", "another id"),
    ("queries: [Why?, {query: b, id: why}]\n", 1, 17, "the id why is taken by line 1", "another id"),
    # settings
    ("settings: [a]\nqueries: [a]\n", 1, 11, "a list where a mapping belongs", "write {reasoner: …}"),
    ("settings:\n  context_tokens: 3\n  corpus: no\nqueries: [a]\n", 3, 11, "yes/no", 'write "no"'),
    ("settings:\n  corpus: ''\nqueries: [a]\n", 2, 11, "an empty text", "write a text"),
    ("settings:\n  reasoner: extractiv\nqueries: [a]\n", 2, 13, "is not known", "did you mean extractive?"),
    ("settings:\n  limits: {cost_usd: -1}\nqueries: [a]\n", 2, 22, "not an amount above zero", "2.50"),
    ("settings:\n  limits: {deadline: '6:30'}\nqueries: [a]\n", 2, 22, "not a time of day", '"06:30"'),
    ("settings:\n  limits: {concurrency: 0}\nqueries: [a]\n", 2, 25, '"0" is not a whole number', "from 1 to 100"),
    ("settings:\n  reasoner: {base_url: 'http://a'}\nqueries: [a]\n", 2, 13, "model is missing", "{model: …}"),
    ("settings:\n  embeddings: tiny\nqueries: [a]\n", 2, 15, '"tiny" is not known', "{model: …, base_url: …}"),
    ("settings:\n  embeddings: {base_url: 'http://a'}\nqueries: [a]\n", 2, 15, "a model on a server", "{model: …"),
    ("settings:\n  reasoner: {model: a, base_url: localhost}\nqueries: [a]\n", 2, 34, "no web address", "https://"),
    ("settings:\n  reasoner: {model: a, key: sk-or-v1-abc}\nqueries: [a]\n", 2, 29, "never a key itself", "MY_SERVER_API_KEY"),
    ("settings:\n  reasoner: {model: a, roles: {writer: b}}\nqueries: [a]\n", 2, 32, "is not known", "did you mean write?"),
    ("settings:\n  prices: {[a]: {input: 1}}\nqueries: [a]\n", 2, 12, "a list where one value belongs", "write a key"),
    ("settings:\n  prices: {a: {input: 1}}\nqueries: [a]\n", 2, 15, "output is missing", "{output: …}"),
    ("settings:\n  prices: {a: {input: -1, output: 2}}\nqueries: [a]\n", 2, 23, '"-1" is not an amount in USD', "0.25"),
    ("settings:\n  search_urls: {bravo: 'http://a'}\nqueries: [a]\n", 2, 17, "is not known", "did you mean brave?"),
    ("settings:\n  proxy: 'http://me:word@host:1'\nqueries: [a]\n", 2, 10, "without user and password", "HTTPS_PROXY"),
    ("settings:\n  proxy: host:3128\nqueries: [a]\n", 2, 10, "a web address", "http://"),
    ("settings:\n  contact: me (at) home\nqueries: [a]\n", 2, 12, "is no address", "you@example.org"),
]


@pytest.mark.parametrize(("source", "line", "column", "message", "hint"), FAULTS)
def test_a_fault_is_reported_once_where_it_stands(source: str | bytes, line: int, column: int, message: str, hint: str) -> None:
    _, faults = parse(source if isinstance(source, bytes) else source.encode())
    assert [(fault.line, fault.column) for fault in faults] == [(line, column)]
    assert message in faults[0].message
    assert hint in faults[0].hint
    assert "sk-or" not in str(faults[0]), "no fault repeats a key"


def test_positions_count_characters_and_every_kind_of_line_end() -> None:
    _, faults = parse("\ufeff# é\r\nqueries:\r\n- {query: '日本', mode: slow}\r- no\n".encode())
    assert [(fault.line, fault.column) for fault in faults] == [(3, 23), (4, 3)]


def test_several_faults_are_told_in_one_pass_in_the_order_of_the_file() -> None:
    source = 'settings:\n  serach: auto\nqueries:\n- no\n- query: a\n  mode: slow\n  tags: b\n- "c" d\n'
    with pytest.raises(QueueInvalid) as caught:
        checked(source.encode(), "queries.yaml")
    lines = caught.value.message.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "queries.yaml:2:3",
        "queries.yaml:4:3",
        "queries.yaml:6:9",
        "queries.yaml:7:9",
        "queries.yaml:8:7",
    ]
    assert lines[0] == 'queries.yaml:2:3: the key "serach" is not known here → did you mean search?'
    assert "5 faults" in caught.value.hint
    assert caught.value.exit_code == 2


def test_a_full_file_is_read() -> None:
    source = """
settings:
  reasoner: extractive
  search: [local]
  corpus: my papers
  limits: {cost_usd: 2.00, deadline: 06:30, concurrency: 4, max_failures: "2"}
queries:
  - Does C# compile to native code?      # two spaces: a comment
  - query: >
      A question over
      two lines?
    id: eu-batteries
    mode: fast
    every: 7d
    tags: [policy, policy, Überblick/eu]
    priority: -3
    perspectives: 4
    iterations: 2
    gap_rounds: 0
    budget_usd: 0.5
    timeout: 90m
    search: auto
"""
    queue = checked(source.encode(), "queries.yaml")
    assert (queue.settings.reasoner, queue.settings.search, queue.settings.corpus) == ("extractive", ("local",), ("my papers",))
    assert queue.settings.limits.deadline == time(6, 30)
    assert (queue.settings.limits.cost_usd, queue.settings.limits.concurrency, queue.settings.limits.max_failures) == (2, 4, 2)
    assert queue.queries == (
        Query(text="Does C# compile to native code?", id="does-c-compile-to-native-code", line=8),
        Query(
            text="A question over two lines?",
            id="eu-batteries",
            line=9,
            mode="fast",
            every=timedelta(days=7),
            tags=("policy", "Überblick/eu"),
            priority=-3,
            perspectives=4,
            iterations=2,
            gap_rounds=0,
            budget_usd=0.5,
            timeout=timedelta(minutes=90),
            search="auto",
        ),
    )


def test_a_role_by_its_older_name_is_read_with_a_word_about_it(caplog: pytest.LogCaptureFixture) -> None:
    source = "settings:\n  reasoner: {model: a, context: 8192, roles: {work: small, plan: big}}\nqueries: [a]\n"
    found = checked(source.encode(), "queries.yaml").settings.reasoner
    assert found == ModelChoice(model="a", roles=(("plan", "big"), ("read", "small")), context=8_192)
    assert "queries.yaml: the key work is of an earlier version: write roles: {read: …}" in caplog.text
    both = source.replace("plan: big", "read: other")
    assert checked(both.encode(), "queries.yaml").settings.reasoner == ModelChoice(
        model="a", roles=(("read", "other"),), context=8_192
    )


def test_a_key_of_an_earlier_version_is_read_over_with_one_notice(caplog: pytest.LogCaptureFixture) -> None:
    entries = "[{query: a, max_workers: 5}, {query: b, max_workers: 5}]"
    known = "snapshot_every: 50, query_limits: {calls: 9}, limits: {timeout: 6h}, mcp: {enqueue: true, each_usd: 0.10}"
    source = f"settings: {{{known}}}\nqueries: {entries}\n"
    assert [query.text for query in checked(source.encode(), "queries.yaml").queries] == ["a", "b"]
    notices = [record.getMessage() for record in caplog.records]
    assert [notice.split()[3] for notice in notices] == ["snapshot_every", "calls", "timeout", "each_usd", "max_workers"]
    assert notices[2] == (
        "queries.yaml: the key timeout is of an earlier version: write limits: {deadline: …}, or run it with --deadline"
    )


def test_models_providers_prices_and_caps_are_read() -> None:
    source = """
settings:
  reasoner:
    model: openai/gpt-5-mini
    base_url: https://openrouter.ai/api/v1
    key: MY_ROUTER_API_KEY
    fallback: [deepseek/deepseek-chat:free]
    roles: {plan: big, check: small}
  search: [brave, searxng, wikipedia, local]
  searxng_url: http://localhost:8888
  search_urls: {wikipedia: "https://de.wikipedia.org", searxng: "http://localhost:8889"}
  contact: you@example.org
  proxy: http://proxy.example.org:3128
  ca_file: /etc/ssl/company.pem
  prices: {big: {input: 1.25, cached: 0.125, output: 10}, "deepseek/deepseek-chat:free": {input: 0, output: 0}}
  limits: {cost_usd: 2, tokens: 5000000, calls: 900}
  query_limits: {cost_usd: 0.5, timeout: 90m}
queries:
  - {query: a, model: big, search: [arxiv]}
"""
    queue = checked(source.encode(), "queries.yaml")
    settings = queue.settings
    assert settings.reasoner == ModelChoice(
        model="openai/gpt-5-mini",
        base_url="https://openrouter.ai/api/v1",
        key="MY_ROUTER_API_KEY",
        fallback=("deepseek/deepseek-chat:free",),
        roles=(("plan", "big"), ("check", "small")),
    )
    assert settings.search == ("brave", "searxng", "wikipedia", "local")
    assert (settings.searxng_url, settings.contact) == ("http://localhost:8888", "you@example.org")
    assert (settings.proxy, settings.ca_file) == ("http://proxy.example.org:3128", "/etc/ssl/company.pem")
    assert settings.search_urls == (("wikipedia", "https://de.wikipedia.org"), ("searxng", "http://localhost:8889"))
    assert settings.prices == (("big", Price(1.25, 10, 0.125)), ("deepseek/deepseek-chat:free", Price(0, 0)))
    assert settings.limits == Limits(2, 5_000_000, 900)
    assert settings.query_limits == QueryLimits(0.5, timedelta(minutes=90))
    (query,) = queue.queries
    assert (query.model, query.search) == ("big", ("arxiv",))


@pytest.mark.parametrize("source", ["queries:\n", "queries: []\n", "settings:\nqueries:\n  # - later\n"])
def test_a_queue_without_questions_is_valid(source: str) -> None:
    assert checked(source.encode(), "queries.yaml").queries == ()


@given(st.lists(st.text("ab -?", min_size=1, max_size=5).map(lambda text: f"Q {text}"), max_size=8), st.randoms())
def test_an_id_never_depends_on_the_place_in_the_file(texts: list[str], random: Random) -> None:
    questions = list({" ".join(text.split()): text for text in texts}.values())
    moved = random.sample(questions, len(questions))
    forth, back = (parse(("queries: " + json.dumps(order)).encode()) for order in (questions, moved))
    assume(not any("is taken" in fault.message for fault in forth[1]))  # one pair in 65,536 has the same digits behind its words
    assert forth[1] == back[1] == ()
    assert {query.text: query.id for query in forth[0].queries} == {query.text: query.id for query in back[0].queries}


def test_a_missing_file_is_no_workspace(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NoWorkspace) as caught:
            contents(folder / "queries.yaml")
        assert caught.value.exit_code == 10
        assert "research init" in caught.value.hint


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_refused_with_its_path(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "queries.yaml"
    make(path)
    with pytest.raises(QueueInvalid, match=r"cannot be read: .*(a directory|no regular file)") as caught:
        contents(path)
    assert str(path) in caught.value.message


_WORDS = """queries: settings: query: id: tags: limits: mode: search: reasoner: roles: every: 7d no 1 06:30 a é
[ ] { } " ' & * ! | > ? - , % @ << # \\"""
_PIECES = st.lists(
    st.sampled_from([*_WORDS.split(), "\n", "\n- ", "\n  ", " ", ": ", "\t", "\r", "---\n", "...\n", "\x07", "\u2028", "\ufeff"]),
    max_size=40,
).map(lambda pieces: "".join(pieces).encode())


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.binary(max_size=200), _PIECES, _PIECES.map(lambda data: b"queries:\n- " + data)))
def test_arbitrary_bytes_are_a_queue_or_its_faults(data: bytes) -> None:
    lines = len(data.decode("utf-8", "replace").splitlines()) + 2
    try:
        queue = checked(data, "queries.yaml")
    except QueueInvalid:
        _, faults = parse(data)
        assert faults
        assert all(1 <= fault.line <= lines and fault.column >= 1 and fault.hint for fault in faults)
    else:
        assert all(query.text and query.id for query in queue.queries)
        assert len({query.id for query in queue.queries}) == len(queue.queries)


def test_a_question_that_stands_twice_is_researched_once_whatever_its_case_and_spaces() -> None:
    entries = b"- Why salt?\n- why  SALT?\n- {query: Why salt?, id: mine}\n- {query: why salt?, id: fast, mode: fast}\n"
    queue, faults = parse(b"queries:\n" + entries)
    assert faults == ()
    assert [query.same_as for query in queue.queries] == ["", "why-salt", "why-salt", ""]  # the last in another way
    assert [query.id for query in queue.queries][::2] == ["why-salt", "mine"]
    assert len({query.id for query in queue.queries}) == 4
