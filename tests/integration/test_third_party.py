"""A session against somebody else's server: llama.cpp, with a model of random weights that has nothing to say.

    pip install -e '.[thirdparty]'

The protocol is real, the answers are noise. So the session must end in passages, in typed errors, and the report must say which
steps failed; nothing that the noise said may be in it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase, ReportGenerated
from pipeline.store.files import FileStore
from tests.integration import tiny_model
from tests.seeds import drawn

llama: Any = pytest.importorskip("xllamacpp", reason="no server to ask: pip install -e '.[thirdparty]'")

TEMPLATES = {
    "schemas refused": "",  # with llama.cpp's usual template, its grammars do not fit a vocabulary of bytes: it answers 400
    "schemas kept": "{% for message in messages %}{{ message.content }}\n{% endfor %}",
}


@pytest.fixture(params=[name for (name,) in drawn(2, TEMPLATES)])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The server's base URL."""
    tiny_model.write(tmp_path / "noise.gguf")
    wanted = llama.CommonParams()
    wanted.model.path = str(tmp_path / "noise.gguf")
    wanted.model_alias = {"noise"}
    wanted.n_ctx, wanted.n_parallel, wanted.cpuparams.n_threads = tiny_model.CONTEXT, 1, 1
    wanted.warmup, wanted.verbosity, wanted.port = False, 0, 0
    wanted.n_predict = 150  # the server's own cap: noise knows no end
    wanted.chat_template = TEMPLATES[request.param]
    running = llama.Server(wanted)
    yield f"{running.listening_address}/v1"
    del running  # it stops when nobody holds it


class Night(NamedTuple):
    """A run of the program, and the log it left."""

    code: int
    told: str
    events: tuple[EventBase, ...]


def research(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def workspace(folder: Path, url: str) -> Path:
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "kilns.md").write_text(
        "# Kilns\n\nA kiln of brick keeps its heat for 40 hours. Lime needs 900 degrees.\n"
    )
    (folder / "queries.yaml").write_text(
        f'settings:\n  reasoner: {{model: noise, base_url: "{url}"}}\n  search: [local]\n'
        "queries:\n  - {query: How long does a kiln keep its heat?, mode: fast}\n"
    )
    return folder


def night(folder: Path) -> Night:
    run = research(folder, "run")
    store = FileStore(folder / "events")
    events = [event for name in store.ids("session") for event in decode_all(record.data for record in store.load(name))]
    return Night(run.returncode, run.stdout + run.stderr, tuple(events))


def test_noise_from_a_real_server_ends_in_passages_and_says_which_steps_failed(server: str, tmp_path: Path) -> None:
    folder = workspace(tmp_path / "workspace", server)
    found = night(folder)
    assert found.code == 0, found.told
    assert "Traceback" not in found.told
    failures = [event for event in found.events if isinstance(event, e.StepFailed)]
    assert {failure.step.partition(":")[0] for failure in failures} >= {"Plan", "ReadPages"}
    assert {failure.error for failure in failures} <= {"AnswerInvalid", "ServiceFailed"}
    assert [event.outcome for event in found.events if isinstance(event, ReportGenerated)] == ["passages"]
    (note,) = (folder / "vault" / "reports").rglob("*.md")
    report = note.read_text("utf-8")
    assert "keeps its heat for 40 hours" in report
    assert "noise" in report
    assert "no passage" not in report.lower()
    assert research(folder, "verify").returncode == 0


def test_the_doctor_finds_a_real_server_and_its_model(server: str, tmp_path: Path) -> None:
    told = research(workspace(tmp_path / "workspace", server), "doctor", "--online").stdout
    assert "it answers, and has noise" in told
