"""What of a vault is public. It is decided once, before anything is read or rendered; everything else is given ``PublicVault``.

A note says ``publish: false``, as Obsidian's own publishing service has it. Any value but ``true`` keeps it private. If a report
or a session is private, then both are, with its workers, the later ones on the same question up to one that says
``publish: true``, the sources that no public note cites, and the topics that no other session has. If a question's newest is
private, all are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pipeline.site.paths import key_of, name_of, read, whole
from pipeline.text.links_to_hidden_notes import blocks_cited, targets_of, without_blocks

_OF_SESSION = ("report", "session", "worker")  # notes with such an id stand or fall together
_GENERATED = (*_OF_SESSION, "source", "home", "night", "topic")
_NO = frozenset({"false", "no", "off", "nein", "0", "n"})


@dataclass(frozen=True)
class PublicVault:
    """The files of a vault without those that are ``private``, and without what other notes say of those that are ``unsaid``.

    ``cited`` are the ids of the quotes that public reports cite: they stay in their sources' notes, whatever else cites them.

    Of a note that only says so itself, such as a topic's, nothing stands elsewhere but links, which become plain text.
    """

    vault: Path
    private: frozenset[str] = frozenset()
    unsaid: frozenset[str] = frozenset()
    cited: frozenset[str] = frozenset()

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, None if it is private, is gone or may not be read."""
        data = None if path in self.private else read(self.vault, path)
        if data is None or not self.unsaid or not path.endswith(".md"):
            return data
        text = data.decode("utf-8", "surrogateescape")
        head, body = _parted(text)
        own = _property(head, "id").partition(":")[0] not in _GENERATED
        left = without_blocks(body, lambda target: self._hides(target, path), own=own, cited=self.cited)
        kept = [line for line in head.split("\n") if not any(self._hides(target, path) for target in targets_of(line))]
        if left != body and not own:  # its counts are of all
            kept = [line for line in kept if not line.rpartition(": ")[2].isdecimal()]
        shown = "\n".join(kept) + left
        return data if shown == text else shown.encode("utf-8", "surrogateescape")

    def _hides(self, target: str, path: str) -> bool:
        key = key_of(target)
        return bool(key) and (key in self._keys or key_of(whole(target, path)) in self._keys)

    @cached_property
    def _keys(self) -> frozenset[str]:
        keys = {key_of(path) for path in self.unsaid}
        return frozenset(keys | {name_of(key) for key in keys})


def marks_of(data: bytes) -> str | None:
    """Return what a note's property ``publish`` says if it keeps the note private, else None."""
    head = _parted(data.decode("utf-8", "replace"))[0]
    value = _property(head, "publish", missing="true")
    return None if value == "true" else value


def unknown(marks: Mapping[str, str]) -> tuple[str, ...]:
    """Return a notice for each note with a value that is neither yes nor no."""
    return tuple(
        f"{path} is not published: its property `publish` is {value or 'empty'!r}, and only `true` publishes"
        for path, value in sorted(marks.items())
        if value not in _NO
    )


def public_vault(vault: Path, paths: Iterable[str], marks: Collection[str], hidden: Collection[str]) -> PublicVault:
    """Return what of a vault with the notes ``paths`` is public.

    ``marks`` are those that say themselves that they are not, ``hidden`` the ids of those that a person hid: a hidden report is
    private, while other notes are also hidden to have fewer of them.
    """

    def read_all(paths: Iterable[str]) -> dict[str, str]:
        return {path: data.decode("utf-8", "replace") for path in paths if (data := read(vault, path)) is not None}

    said = (_property(_parted(text)[0], "id") for text in read_all(marks).values())
    sessions = {_session(note) for note in said if note.startswith(("report:", "session:"))}
    sessions |= {_session(note) for note in hidden if note.startswith("report:")}
    if not sessions:
        return PublicVault(vault, frozenset(marks))
    texts = read_all(paths)
    heads = {path: _parted(text)[0] for path, text in texts.items()}
    ids = {path: _property(head, "id") for path, head in heads.items()}
    sessions |= _with_later_ones(heads, ids, marks)
    unsaid = {path for path, note in ids.items() if note in hidden or _session(note) in sessions}
    sources = {key_of(path): path for path, note in ids.items() if note.startswith("source:")}
    reports = [path for path, note in ids.items() if note.startswith("report:") and path not in unsaid]
    theirs, ours = ({key_of(one) for path in group for one in targets_of(texts[path])} for group in (unsaid, reports))
    unsaid |= {sources[key] for key in sources.keys() & theirs - ours}
    topics = {key_of(path): path for path, note in ids.items() if note.startswith("topic:")}
    shown = (texts[path] for path, note in ids.items() if _session(note) and path not in unsaid)
    named = {key_of(one) for text in shown for one in targets_of(text)}
    alone = {topics[key] for key in topics.keys() & theirs - named}
    quotes = frozenset(block for path in reports for block in blocks_cited(texts[path]))
    return PublicVault(vault, frozenset(unsaid | alone | (ids.keys() & set(marks))), frozenset(unsaid), quotes)


def _with_later_ones(heads: Mapping[str, str], ids: Mapping[str, str], marks: Collection[str]) -> set[str]:
    """The sessions that say themselves that they are private, and those that follow such a one on the same question.

    The same question has the same id, which a session's id names, or a report that took the place of the earlier one's.
    """
    began: dict[str, str] = {}
    says: dict[str, bool] = {}  # whether a session is private whose notes say so or the contrary
    replaced: dict[str, str] = {}  # the session before, by that whose report took the place of its report
    session_at = {key_of(path): _session(note) for path, note in ids.items() if note.startswith("report:")}
    for path, note in ids.items():
        if note.startswith(("report:", "session:")):
            name, head = _session(note), heads[path]
            began[name] = min(began.get(name, "9"), _property(head, "created"))
            replaced |= {session_at.get(key_of(one), ""): name for one in targets_of(_property(head, "superseded_by"))}
            if path in marks or _property(head, "publish") == "true":
                says[name] = says.get(name, False) or path in marks
    private: set[str] = set()
    latest: dict[str, str] = {}
    together: dict[str, list[str]] = {}  # the sessions on a question up to its newest, by each of them
    for name in sorted(began, key=lambda name: (began[name], name)):
        question = name[11:].rpartition("-")[0] or name
        before = {latest.get(question, ""), replaced.get(name, "")}
        latest[question] = name
        same = [*dict.fromkeys(one for earlier in before for one in together.get(earlier, ())), name]
        together |= dict.fromkeys(same, same)
        if says.get(name, not private.isdisjoint(before)):
            private.add(name)
    return {name for name, same in together.items() if name in private or same[-1] in private}


def _session(note: str) -> str:
    """The session whose report, note or worker's note has this id; "" for another note."""
    kind, _, name = note.partition(":")
    return name.partition("/")[0] if kind in ("report", "session") else name.rpartition("/")[0] if kind == "worker" else ""


def _parted(text: str) -> tuple[str, str]:
    """A note's properties with their lines of hyphens, "" for none, and the rest."""
    start = 1 if text.startswith("\ufeff") else 0
    end = text.find("\n---", start + 3) if text.startswith("---", start) else -1
    end = text.find("\n", end + 1) if end > 0 else -1
    return (text[:end], text[end:]) if end > 0 else ("", text)


def _property(head: str, name: str, missing: str = "") -> str:
    """The value of a property as it is written on its line, without quotes and comment, in small letters where it is no id."""
    for line in head.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip("\"' \t\ufeff").lower() == name:
            bare = value.partition(" #")[0].strip().strip("\"'").strip()
            return bare if name == "id" else bare.lower()
    return missing
