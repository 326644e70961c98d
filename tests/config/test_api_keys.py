from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.api_keys import Keys, read_keys
from pipeline.errors import UsageError


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


def test_what_is_empty_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRAVE_API_KEY=b\n")
    assert _found(read_keys({"BRAVE_API_KEY": " ", "BRAVE_API_KEY_FILE": ""}, tmp_path)) == ("b", ".env")


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
