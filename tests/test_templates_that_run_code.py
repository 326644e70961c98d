"""A template that tries to run code, or to change a value, is named with its line, and nothing comes of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.config import workspace_starter
from pipeline.errors import TemplateInvalid
from pipeline.reasoners.model.prompts import PromptTemplates
from tests.commanding import said, workspace_in

ACT = '.popen("touch TRACE").read()'
HOSTILE = {
    "classes of a text": "{{ ''.__class__.__mro__[1].__subclasses__() | list }}",
    "globals of a helper": f"{{{{ cycler.__init__.__globals__.os{ACT} }}}}",
    "an attribute by a filter": f'{{{{ lipsum | attr("__globals__") | attr("get") ("os"){ACT} }}}}',
    "an import": f'{{{{ lipsum.__globals__["__builtins__"]["__import__"]("os"){ACT} }}}}',
    "an attribute of a method": '{{ "".join.__self__.__class__.__base__.__subclasses__() | list }}',
    "a format string": '{{ "{0.__class__.__init__.__globals__}".format(cycler) }}',
    "a change of a value": "{% set list = [1] %}{{ list.append(2) }}",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code") / "w"
    workspace_in(folder, "  - {query: How deep is the harbour?, id: depth, mode: fast}\n")
    assert said(folder, "run").code == 0
    return folder


@pytest.mark.parametrize(("part", "name"), [("vault", "report.md.j2"), ("site", "report.html.j2")])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_build_names_template_and_line_and_runs_nothing(
    kind: str, part: str, name: str, workspace: Path, tmp_path: Path
) -> None:
    shutil.copytree(workspace_starter.source() / "templates", workspace / "templates", dirs_exist_ok=True)
    workspace_starter.record_shipped(workspace)  # what is edited from now on is its writer's to mend
    own = workspace / "templates" / part
    trace = tmp_path / "trace"
    try:
        before = (own / name).read_text()
        (own / name).write_text(f"first line\n{HOSTILE[kind].replace('TRACE', str(trace))}\n")
        done = said(workspace, "build")
        assert done.code == 2, done
        assert f"{own / name}, line 2: " in done.err
        assert not trace.exists()
        (own / name).write_text(before)
        assert said(workspace, "build").code == 0
    finally:
        shutil.rmtree(workspace / "templates")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_prompt_names_template_and_line_and_runs_nothing(kind: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "plan.md.j2").write_text("What is asked?\n")
    (tmp_path / "_shared.md.j2").write_text(f"first line\n{HOSTILE[kind].replace('TRACE', str(trace))}\n")
    with pytest.raises(TemplateInvalid, match=r"_shared\.md\.j2, line 2: "):
        PromptTemplates(tmp_path).messages("plan", {})
    assert not trace.exists()
