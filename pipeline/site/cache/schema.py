"""The tables of the site's catalogue, and functions that open its file."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

from pipeline.system.files import connect_sqlite

FORMAT = 5
SCHEMA = """
CREATE TABLE notes (
  id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, key TEXT, name TEXT, size INTEGER, mtime INTEGER, digest TEXT,
  kind TEXT, title TEXT, created TEXT, status TEXT, description TEXT, facts TEXT, rest TEXT, terms TEXT);
CREATE INDEX notes_by_key ON notes (key);
CREATE INDEX notes_by_name ON notes (name);
CREATE INDEX by_kind ON notes (kind, created, path) WHERE kind IS NOT NULL;
CREATE TABLE links (src INTEGER, dst INTEGER, deep INTEGER, PRIMARY KEY (src, dst)) WITHOUT ROWID;
CREATE INDEX by_target ON links (dst, src, deep);
CREATE TABLE names (name TEXT, src INTEGER, PRIMARY KEY (name, src)) WITHOUT ROWID;
CREATE INDEX names_by_source ON names (src);
CREATE TABLE tags (tag TEXT, created TEXT, path TEXT, src INTEGER, words TEXT, PRIMARY KEY (tag, created, path)) WITHOUT ROWID;
CREATE INDEX tags_by_source ON tags (src);
CREATE TABLE counts (
  sort TEXT, name TEXT, month TEXT, words TEXT, count INTEGER, PRIMARY KEY (sort, name, month, words)) WITHOUT ROWID;
CREATE TABLE watched (tag TEXT, src INTEGER, PRIMARY KEY (tag, src)) WITHOUT ROWID;
CREATE INDEX watched_by_source ON watched (src);
CREATE TABLE tables (mark TEXT PRIMARY KEY, path TEXT, base TEXT, name TEXT) WITHOUT ROWID;
CREATE TABLE ranked (mark TEXT, place BLOB, path TEXT, PRIMARY KEY (mark, place, path)) WITHOUT ROWID;
CREATE INDEX ranked_by_path ON ranked (mark, path);
CREATE TABLE blocks (src INTEGER, block TEXT, text TEXT, around TEXT, PRIMARY KEY (src, block)) WITHOUT ROWID;
CREATE TABLE pages (path TEXT PRIMARY KEY, source TEXT, key TEXT, size INTEGER, mtime INTEGER) WITHOUT ROWID;
CREATE INDEX pages_of_files ON pages (source) WHERE source IS NOT NULL;
CREATE INDEX pages_of_none ON pages (path) WHERE source IS NULL;
CREATE INDEX pages_in_doubt ON pages (path) WHERE key = '';
CREATE TABLE vault_folders (path TEXT PRIMARY KEY, mark TEXT) WITHOUT ROWID;
CREATE TABLE site_folders (path TEXT PRIMARY KEY, mark TEXT) WITHOUT ROWID;
CREATE TABLE made (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_COUNTING = """CREATE TRIGGER {name} AFTER {event} WHEN {row}.{sort} IS NOT NULL BEGIN
  INSERT INTO counts VALUES ('{sort}', {row}.{sort}, substr({row}.created, 1, 7), {words}, {step})
  ON CONFLICT (sort, name, month, words) DO UPDATE SET count = count + excluded.count; END;
"""
SCHEMA += "".join(
    _COUNTING.format(name=name, event=event, row=row, sort=sort, words=words, step=step)
    for name, event, row, sort, words, step in (
        ("kind_came", "UPDATE OF kind, created ON notes", "new", "kind", "''", 1),
        ("kind_left", "UPDATE OF kind, created ON notes", "old", "kind", "''", -1),
        ("kind_went", "DELETE ON notes", "old", "kind", "''", -1),
        ("tag_came", "INSERT ON tags", "new", "tag", "new.words", 1),
        ("tag_went", "DELETE ON tags", "old", "tag", "old.words", -1),
    )
)


def connected(file: Path) -> sqlite3.Connection:
    """Return the file open for reading."""
    return connect_sqlite(file, "ro")


def prepared(file: Path) -> sqlite3.Connection:
    """Return the file open for writing; created again if there is none or it has another format."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with suppress(sqlite3.DatabaseError):
        db = connect_sqlite(file)
        if db.execute("PRAGMA user_version").fetchone()[0] == FORMAT:
            return db
        db.close()
    file.unlink(missing_ok=True)
    db = connect_sqlite(file)
    db.executescript(f"{SCHEMA} PRAGMA user_version = {FORMAT};")
    return db
