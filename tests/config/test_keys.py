"""Keys, `.env` and the address of the store: where they come from, and what is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.keys import Keys, read_keys, shown_store, usable_store
from pipeline.config.workspace_settings import store_address
from pipeline.errors import QueueInvalid, UsageError


def _found(keys: Keys, name: str = "BRAVE_API_KEY") -> tuple[str, str] | None:
    found = keys.find(name)
    return (found.secret.reveal(), found.source) if found else None


def test_the_environment_wins_over_its_file_and_both_over_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    (tmp_path / ".env").write_text("BRAVE_API_KEY=from-workspace\n")
    env = {"BRAVE_API_KEY": "from-environment", "BRAVE_API_KEY_FILE": "key"}
    assert _found(read_keys(env, tmp_path)) == ("from-environment", "the environment")
    del env["BRAVE_API_KEY"]
    assert _found(read_keys(env, tmp_path)) == ("from-file", str(tmp_path / "key"))
    assert _found(read_keys({}, tmp_path)) == ("from-workspace", ".env")
    (tmp_path / ".env").write_text("BRAVE_API_KEY_FILE=key\n")
    assert _found(read_keys({}, tmp_path)) == ("from-file", str(tmp_path / "key"))
    (tmp_path / ".env").unlink()
    assert _found(read_keys({}, tmp_path)) is None


def test_a_key_file_that_cannot_be_read_is_an_error_not_a_missing_key(tmp_path: Path) -> None:
    keys = read_keys({"BRAVE_API_KEY_FILE": "nowhere"}, tmp_path)
    with pytest.raises(UsageError, match="nowhere, which cannot be read: No such file"):
        keys.find("BRAVE_API_KEY")


@pytest.mark.parametrize("content", ["", "\n", "sk-canary two", "sk-canary\nsecond", "sk-canáry", "\x00"])
def test_what_is_no_key_is_refused_without_being_shown(tmp_path: Path, content: str) -> None:
    (tmp_path / "key").write_text(content)
    with pytest.raises(UsageError) as caught:
        read_keys({"BRAVE_API_KEY_FILE": "key"}, tmp_path).find("BRAVE_API_KEY")
    assert "canary" not in caught.value.message + caught.value.hint


def test_an_unreadable_workspace_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        read_keys({}, tmp_path)


def test_everything_that_looks_like_a_key_is_a_secret_and_shown_nowhere(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRAVE_API_KEY=canary-one\nSEARXNG_URL=http://localhost:8888\nMINE=canary-three\n")
    keys = read_keys({"GITHUB_TOKEN": "canary-two", "HOME": "/home/me", "TAVILY_API_KEY_FILE": "nowhere"}, tmp_path)
    assert sorted(secret.reveal() for secret in keys.secrets()) == ["canary-one", "canary-two"]
    assert {secret.name for secret in keys.secrets("MINE")} == {"BRAVE_API_KEY", "GITHUB_TOKEN", "MINE"}
    assert keys.value("SEARXNG_URL") == "http://localhost:8888"
    assert "canary" not in repr(keys) + repr(keys.find("BRAVE_API_KEY"))


def parse(folder: Path, text: str) -> tuple[dict[str, str], dict[int, str]]:
    (folder / ".env").write_bytes(text.encode())
    keys = read_keys({}, folder)
    return dict(keys.file), dict(keys.faults)


LINES = [
    ("A=b", "b"),
    ("export A=b", "b"),
    ("  A = b  ", "b"),
    ("A=", ""),
    ("A=# nothing", ""),
    ("A=b # why", "b"),
    ("A=b#c", "b#c"),
    ("A='b # $c \\n'", "b # $c \\n"),
    ('A="b\\n\\"c\\"" # why', 'b\n"c"'),
    ("A=a=b==", "a=b=="),
    ("\ufeffA=b", "b"),
    ("A=$HOME", "$HOME"),
    ("A=it's", "it's"),
]


@pytest.mark.parametrize(("line", "value"), LINES)
def test_a_line_is_a_name_and_its_value(tmp_path: Path, line: str, value: str) -> None:
    assert parse(tmp_path, line) == ({"A": value}, {})


@pytest.mark.parametrize("line", ["A", "1A=b", "A-B=c", "=b", "A='b", 'A="b', "A='b' c", 'A="b\\"', "A B=c"])
def test_a_line_that_cannot_be_read_is_a_fault_and_sets_nothing(tmp_path: Path, line: str) -> None:
    values, faults = parse(tmp_path, f"# first\n{line}\n")
    assert values == {}
    assert list(faults) == [2]


ADDRESS = "postgresql://me@db.example.org:5433/night"


def queue(folder: Path, settings: str, queries: str = "  - How deep is the harbour?\n") -> Path:
    (folder / "queries.yaml").write_text(f"settings: {settings}\nqueries:\n{queries}")
    return folder


@pytest.mark.parametrize("text", ["mysql://db/night", "night", "file:///events", "postgresql//db", "postgresql://[db/night"])
def test_what_is_no_address_is_refused_with_what_to_write(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        usable_store(text)
    assert refused.value.hint.startswith("write store: postgresql://")
    with pytest.raises(QueueInvalid):
        store_address(queue(tmp_path, f"{{store: '{text}'}}"))


def test_an_address_without_a_password_is_taken_and_shown_without_its_parameters() -> None:
    for text in (ADDRESS, "postgres://db/night", "postgresql:///night?host=/run/postgresql", "postgresql://%2Frun/night"):
        assert usable_store(text) == text
    assert shown_store(f"{ADDRESS}?sslkey=/home/me/key&options=x") == ADDRESS


def test_the_environment_comes_before_the_dot_env_file_and_that_before_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RESEARCH_STORE", raising=False)
    assert store_address(tmp_path) == ""
    assert store_address(queue(tmp_path, "{}")) == ""
    assert store_address(queue(tmp_path, "{store: files}")) == ""
    assert store_address(queue(tmp_path, f"{{store: '{ADDRESS}'}}")) == ADDRESS
    (tmp_path / ".env").write_text("RESEARCH_STORE=postgresql://db/of-file\n")
    assert store_address(tmp_path) == "postgresql://db/of-file"
    monkeypatch.setenv("RESEARCH_STORE", "postgresql://db/of-environment")
    assert store_address(tmp_path) == "postgresql://db/of-environment"
    monkeypatch.setenv("RESEARCH_STORE", "files")
    assert store_address(tmp_path) == ""
    monkeypatch.setenv("RESEARCH_STORE", "night")
    with pytest.raises(UsageError, match="RESEARCH_STORE"):
        store_address(tmp_path)


def test_faults_elsewhere_in_the_queue_do_not_matter_and_a_faulty_setting_is_never_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RESEARCH_STORE", raising=False)
    assert store_address(queue(tmp_path, f"{{store: '{ADDRESS}', nonsense: 1}}", "  - {id: x}\n")) == ADDRESS
    with pytest.raises(QueueInvalid):
        store_address(queue(tmp_path, "{store: 7}"))
    with pytest.raises(QueueInvalid):
        store_address(queue(tmp_path, "{store: 'postgresql://db/n'"))
    assert store_address(queue(tmp_path, "{}", "  - 'What does a store: keep?'\n")) == ""
