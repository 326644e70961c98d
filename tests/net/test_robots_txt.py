from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.net.pages import MAX_BYTES, parse_robots

AGENT = "night-research"


def allowed(robots: str, path: str, agent: str = AGENT) -> bool:
    return parse_robots(robots.encode(), agent).allow("https://example.org" + path)


@pytest.mark.parametrize(
    ("rules", "path", "allowed_there"),
    [
        ("", "/a", True),
        ("Disallow: /", "/a", False),
        ("Disallow: /", "/robots.txt", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /page\nDisallow: /page", "/page", True),
        ("Disallow: /*.php$", "/x/index.php", False),
        ("Disallow: /%C3%BC", "/%c3%bc", False),
        ("disallow : /a # why", "/a", False),
        ("nonsense\nDisallow: /a", "/a", False),
    ],
)
def test_the_longest_fitting_rule_decides(rules: str, path: str, allowed_there: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}", path) is allowed_there


GROUPS = """\
User-agent: other
User-agent: NIGHT-Research/2.0
Disallow: /both

User-agent: *
Disallow: /

User-agent: night-research
Disallow: /second
"""


@pytest.mark.parametrize(
    ("path", "agent", "allowed_there"),
    [
        ("/x", AGENT, True),
        ("/both", AGENT, False),
        ("/second", AGENT, False),
        ("/second", "other", True),
        ("/both", "other", False),
        ("/x", "third", False),
    ],
)
def test_all_groups_of_an_agent_count_together_and_those_of_the_star_only_without_one(
    path: str, agent: str, allowed_there: bool
) -> None:
    assert allowed(GROUPS, path, agent) is allowed_there


@pytest.mark.parametrize(
    ("value", "delay"),
    [("3", 3.0), ("0.5", 0.5), ("86400", 10.0), ("-1", 0.0), ("abc", 0.0), ("1e9", 10.0), ("nan", 0.0), ("", 0.0)],
)
def test_a_crawl_delay_is_honoured_up_to_ten_seconds(value: str, delay: float) -> None:
    assert parse_robots(f"User-agent: *\nCrawl-delay: {value}".encode(), AGENT).delay_s == delay


def test_a_rule_that_the_limit_cuts_is_ignored() -> None:
    start = b"User-agent: *\nDisallow: /a\n"
    robots = start + b"#" * (MAX_BYTES - len(start) - 12) + b"\nDisallow: /abc\n"
    assert parse_robots(robots, AGENT).allow("https://example.org/b")


@pytest.mark.parametrize(
    "robots",
    [
        b"".join(b"User-agent: a%d\n" % number for number in range(15_000)) + b"Disallow: /x\n" * 20_000,
        b"".join(b"user agent a%d\x0b" % number for number in range(15_000)) + b"Disallow: /x\x0b" * 20_000,
        b"".join(b"User-agent: night-research*%d\n" % number for number in range(9_000)) + b"Disallow: /x\n" * 20_000,
    ],
)
def test_many_crawlers_with_many_rules_cost_no_more_than_one(robots: bytes) -> None:
    rules = parse_robots(robots, AGENT)
    assert len(rules.parsed._user_agents) <= 2
    assert rules.allow("https://example.org/y")


@given(st.binary(max_size=500), st.text(max_size=50))
def test_no_file_is_fatal(data: bytes, path: str) -> None:
    assert parse_robots(data, AGENT).allow("https://example.org/" + path) in (True, False)


def test_a_pattern_of_stars_is_no_trap() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /" + b"*a" * 5_000 + b"$", AGENT)
    assert rules.allow("https://example.org/" + "a" * 1_900 + "b")
