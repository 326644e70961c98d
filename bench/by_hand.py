"""A model by hand: you read each prompt as a model sees it, and write the answer.

    python -m bench.by_hand FOLDER [--port 8899]

Speaks chat completions on this machine. Each request becomes a file ``001-outline.request.md`` in FOLDER: the messages, then the
JSON schema of the answer. Write the answer to ``001-outline.answer.json``; it is sent as soon as the file holds JSON. (Write
anything else to ``001-outline.answer.txt`` to try a reply that is not JSON.) The program asks again when it has waited too long;
the same prompt then has the same number, so an answer that is late is used at the next try, in this run or in the next.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.chat_server import MODEL, Body, prompt_of, schema_of, serving
from pipeline.text.cleaning import tokens

_CODE = re.compile(r"(<<(?:end )?material \S+) \w+>>")
_EVERY_S = 0.3
_DIRECTIONS = """\
Write this into the settings of a workspace's queries.yaml, then run `research run` there:

  reasoner: {{model: {model}, base_url: "{url}"}}

Requests and answers are in {folder}"""


class Desk:
    """The folder of numbered requests and answers. A prompt that was seen before keeps its number, also over restarts."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._lock = folder, threading.Lock()

    def answer(self, body: Body) -> str:
        """Write the request to a file, wait for the answer's file and return its text."""
        with self._lock:
            stem = self._stem(body)
        while (text := self._answered(stem)) is None:
            time.sleep(_EVERY_S)
        return text

    def _stem(self, body: Body) -> str:
        asked = readable(body)
        mark = hashlib.sha256(_CODE.sub(r"\1>>", asked).encode()).hexdigest()[:16]
        for path in sorted(self._folder.glob("*.request.md")):
            if mark in path.read_text("utf-8").partition("\n")[0]:
                return path.name.removesuffix(".request.md")
        number = 1 + len(list(self._folder.glob("*.request.md")))
        stem = f"{number:03}-{schema_of(body).get('name', 'question')}"
        (self._folder / f"{stem}.request.md").write_text(f"<!-- {mark} -->\n{asked}", "utf-8")
        print(f"{stem}: {tokens(prompt_of(body)):,} tokens", flush=True)
        return stem

    def _answered(self, stem: str) -> str | None:
        """Return the answer, None if there is none or its file is not complete yet."""
        plain = self._folder / f"{stem}.answer.txt"
        if plain.exists():
            return plain.read_text("utf-8")
        try:
            text = (self._folder / f"{stem}.answer.json").read_text("utf-8")
            json.loads(text)
        except (OSError, ValueError):
            return None
        return text


def readable(body: Body) -> str:
    """Return a request as a model sees it: the messages, then the schema of the answer."""
    return "\n\n".join(_parts(body)) + "\n"


def _parts(body: Body) -> Iterator[str]:
    yield f"model {body.get('model')}, at most {body.get('max_tokens') or body.get('max_completion_tokens')} tokens"
    for message in body["messages"]:
        yield f"# {message['role']}\n\n{message['content']}"
    if wanted := schema_of(body):
        yield f"# schema\n\n```json\n{json.dumps(wanted.get('schema'), separators=(',', ':'), ensure_ascii=False)}\n```"


def main() -> None:
    """Serve until interrupted."""
    options = argparse.ArgumentParser(prog="python -m bench.by_hand", description="Lets you answer as the model.")
    options.add_argument("folder", type=Path)
    options.add_argument("--port", type=int, default=8899)
    given = options.parse_args()
    with serving(Desk(given.folder).answer, given.port) as url:
        print(_DIRECTIONS.format(model=MODEL, url=url, folder=given.folder), flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
