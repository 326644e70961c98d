"""Where the log is: what the setting and the environment say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.config.settings import load_workspace, store_address, store_password
from pipeline.config.store_address import fault_of, is_address, shown
from pipeline.errors import QueueInvalid, UsageError

ADDRESS = "postgresql://me@db.example.org:5433/night"


def queue(folder: Path, settings: str, queries: str = "  - How deep is the harbour?\n") -> Path:
    (folder / "queries.yaml").write_text(f"settings: {settings}\nqueries:\n{queries}")
    return folder


@pytest.mark.parametrize(
    "text", [ADDRESS, "postgres://db/night", "postgresql:///night?host=/run/postgresql", "postgresql://%2Frun/night"]
)
def test_an_address_without_a_password_is_taken(text: str) -> None:
    assert fault_of(text) == ("", "")
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:pw-word@db/night",
        "postgresql://me:@db/n",
        "postgresql://db/n?password=pw-word",
        "postgresql://db/n?sslpassword=pw-word",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(text: str, tmp_path: Path) -> None:
    fault, wanted = fault_of(text)
    assert "holds a password" in fault
    with pytest.raises(QueueInvalid, match="holds a password") as refused:
        load_workspace(queue(tmp_path, f"{{store: '{text}'}}"))
    assert "pw-word" not in f"{fault}{wanted}{refused.value.message}{refused.value.hint}{shown(text)}"


@pytest.mark.parametrize("text", ["mysql://db/night", "night", "file:///events", "postgresql//db", "postgresql://[db/night"])
def test_what_is_no_address_is_refused_with_what_to_write(text: str, tmp_path: Path) -> None:
    assert fault_of(text)[1].startswith("write store: postgresql://")
    with pytest.raises(QueueInvalid):
        store_address(queue(tmp_path, f"{{store: '{text}'}}"))


def test_an_address_is_shown_without_its_parameters() -> None:
    assert shown(f"{ADDRESS}?sslkey=/home/me/key&options=x") == ADDRESS
    assert shown("postgresql://me@/night?host=/run/pg&port=5433") == "postgresql://me@/run/pg/night"


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


def test_the_password_is_read_from_the_dot_env_file_unless_the_client_library_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGPASSWORD", "PGPASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert store_password(tmp_path) == ""
    (tmp_path / ".env").write_text("PGPASSWORD=of-the-file\n")
    assert store_password(tmp_path) == "of-the-file"
    monkeypatch.setenv("PGPASSWORD", "of the environment")
    assert store_password(tmp_path) == ""
