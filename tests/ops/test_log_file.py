"""The log file: tracebacks without keys, bounded, private, and never in the way."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ops import console_output
from pipeline.ops.console_output import LOG_FILE
from pipeline.ops.unattended import OLDER, log_to_file
from pipeline.text.redaction import Redaction, Secret

KEY = "sk-or-v1-canary0chat0secret0"
log = logging.getLogger("pipeline.test")


@pytest.fixture(autouse=True)
def _masked() -> Iterator[None]:
    console_output.add_mask(Redaction([Secret(KEY)]).text)
    yield
    console_output._masks.clear()


def test_it_holds_tracebacks_and_no_key(tmp_path: Path) -> None:
    with log_to_file(tmp_path):
        try:
            raise ValueError(f"no luck with {KEY}")
        except ValueError:
            log.exception("a step failed, Authorization: Bearer %s", KEY)
    text = (tmp_path / LOG_FILE).read_text("utf-8")
    assert "Traceback (most recent call last)" in text
    assert "ValueError: no luck with [redacted]" in text
    assert KEY not in text
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR +pipeline\.test: a step failed", text)


def test_it_does_not_grow_without_end(tmp_path: Path) -> None:
    with log_to_file(tmp_path, largest=2_000):
        for number in range(1_000):
            log.info("line %d of many: %s", number, "x" * 50)
    files = sorted((tmp_path / LOG_FILE).parent.glob("research.log*"))
    assert len(files) == OLDER + 1
    assert all(path.stat().st_size <= 2_000 for path in files)
    assert "line 999 of" in (tmp_path / LOG_FILE).read_text("utf-8")


def test_only_its_owner_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with log_to_file(tmp_path):
            log.info("private")
    finally:
        os.umask(before)
    assert (tmp_path / LOG_FILE).stat().st_mode & 0o777 == 0o600


def test_a_disk_that_refuses_it_is_no_matter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events").write_text("a file is in the way")
    with log_to_file(tmp_path):
        log.info("nowhere to go")
    assert capfd.readouterr() == ("", "")
