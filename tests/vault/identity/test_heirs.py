"""A note that is no longer made leaves a person's words and links to the report that it led to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.vault.output import user_text
from pipeline.vault.output.frontmatter import Property
from pipeline.vault.output.user_text import NOTHING, UserText
from tests.vault.builders import OPEN, Workplace, write_into

FIRST, NEWEST = ("reports/2026/how-does-an-append-only-log-survive-a-power-cut-" + tail for tail in ("3f2a", "9c01"))
OLD = {
    "question": ("questions/question-power-cut-ab12cd", "question:power-cut", f"[[{FIRST}|1]] [[{NEWEST}|2]]", NEWEST),
    "talk": ("talks/2026/talk-how-so-1a2b", "talk:talk-2026-11-21-x", f"[[{NEWEST}|deeper]] [[{FIRST}|about]]", NEWEST),
    "entity": ("entities/entity-log", "entity:log", f"- [[{FIRST}|1]]", FIRST),
    "memory": ("Memory", "memory", f"[[entities/entity-log|Log]] [[{FIRST}|1]]", "Home"),
}


def an_old_note(place: Workplace, kind: str, own: UserText = NOTHING, edit: str = "") -> Path:
    """Put a note of a kind that earlier versions made into the vault, as in a clone: nothing is known of it."""
    path, name, body, _heir = OLD[kind]
    properties: dict[str, Property] = {"title": "Old", "kind": kind, "id": name, "tags": (f"research/{kind}",)}
    if kind == "talk":
        properties["session"] = f"[[{FIRST}|about]]"
    text = f"# Old\n\n{body}\n\n%% begin notes %%\n%% end notes %%\n"
    note = place.vault / f"{path}.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place.state)
    note.write_text(user_text.compose(properties, text, own).replace("# Old", f"# Old{edit}", 1))
    return note


def own_text_of(place: Workplace, path: str) -> str:
    return (place.vault / f"{path}.md").read_text().partition(OPEN)[2].partition("%% end notes %%")[0]


@pytest.mark.parametrize("kind", OLD)
def test_a_persons_words_go_to_the_attic_and_into_the_report_once(place: Workplace, kind: str, tmp_path: Path) -> None:
    note = an_old_note(place, kind, UserText("rating: 3\n", {}, {"notes": "my words\n"}))
    was, heir = note.read_bytes(), OLD[kind][3]
    report = place.build()
    assert report.problems == ()
    assert report.removed == (note.relative_to(place.vault).as_posix(),)
    (copy,) = report.set_aside
    assert (place.vault / copy).read_bytes() == was
    assert not note.exists()
    assert own_text_of(place, heir) == "my words\n"
    assert OLD[kind][0] in (place.vault / f"{heir}.md").read_text().partition("\n---\n")[0]
    before = place.files()
    assert place.build().written == ()
    assert place.build("all").written == ()
    assert place.files() == before
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(was)  # as a synchronisation may bring it back
    shutil.rmtree(place.state)
    place.build()
    assert place.files() == before


@pytest.mark.parametrize("kind", OLD)
def test_links_of_a_person_lead_to_the_report_and_an_untouched_note_is_only_removed(place: Workplace, kind: str) -> None:
    note = an_old_note(place, kind)
    path, _name, _body, heir = OLD[kind]
    mine, ours = place.vault / "my" / "ideas.md", place.note("topics/")
    mine.parent.mkdir(exist_ok=True)
    mine.write_bytes(f"see [[{path}#What|this]] and [[{path.rpartition('/')[2]}]]\r\nnot [[{path}-2]]\r\n".encode())
    write_into(ours, f"as in [[{path}]]")
    report = place.build()
    assert not note.exists()
    assert report.set_aside == ()
    assert mine.read_bytes() == f"see [[{heir}#What|this]] and [[{heir}]]\r\nnot [[{path}-2]]\r\n".encode()
    assert f"\nas in [[{heir}]]\n" in ours.read_text()
    mine.unlink()
    assert place.leading_nowhere() == []
    assert place.build().written == ()


def test_words_are_appended_to_what_the_report_has_already_and_edited_text_goes_to_the_attic(place: Workplace) -> None:
    write_into(place.vault / f"{NEWEST}.md", "written here")
    an_old_note(place, "question", UserText(texts={"notes": "written there\n"}), edit=" and more")
    (copy,) = place.build().set_aside
    assert "# Old and more" in (place.vault / copy).read_text()
    assert own_text_of(place, NEWEST) == "written here\nwritten there\n"


def test_a_note_with_broken_markers_is_kept_in_the_attic_as_it_is(place: Workplace) -> None:
    note = an_old_note(place, "question", UserText(texts={"notes": "my words\n"}))
    note.write_text(note.read_text().replace("%% end notes %%", "%% end note %%"))
    was = note.read_bytes()
    report = place.build()
    assert not note.exists()
    assert (place.vault / report.set_aside[0]).read_bytes() == was
    assert "moved to attic/" in report.left_alone[0]
