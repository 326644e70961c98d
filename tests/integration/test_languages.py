"""Questions in six languages over a folder of documents in all of them, by words alone: ``bench/quality/languages``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.store.files import FileStore

SET = Path(__file__).parents[2] / "bench" / "quality" / "languages"


def lines(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (SET / name).read_text("utf-8").splitlines()]


def test_the_passage_with_the_answer_is_among_the_first_three_of_most_questions(tmp_path: Path) -> None:
    queries = "\n".join(f"  - {{id: {one['id']}, query: {json.dumps(one['query'])}}}" for one in lines("topics.jsonl"))
    (tmp_path / "queries.yaml").write_text(
        f"settings:\n  reasoner: extractive\n  search: [local]\n  embeddings: off\n  corpus: {SET / 'documents'}\n"
        f"queries:\n{queries}\n",
        "utf-8",
    )
    (tmp_path / "events").mkdir()
    ended = CliRunner().invoke(cli, ["-C", str(tmp_path), "-q", "run"])
    assert ended.exit_code in (0, 5), ended.output
    store = FileStore(tmp_path / "events")
    firsts: dict[str, str] = {}
    for session in store.ids("session"):
        events = decode_all(record.data for record in store.load(session))
        started = next(event for event in events if isinstance(event, e.ResearchStarted))
        chosen = next((event for event in events if isinstance(event, e.PassagesChosen)), None)
        firsts[started.query_id] = "\n".join(fact.quote for fact in chosen.passages[:3]) if chosen else ""
    found = {str(one["id"]) for one in lines("answers.jsonl") if str(one["aliases"][0]) in firsts.get(str(one["id"]), "")}  # type: ignore[index]
    assert len(firsts) == 18
    assert len(found) >= 11, sorted(firsts.keys() - found)
