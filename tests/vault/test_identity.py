"""A note is known by its id: where a person puts it, there it stays; what a person removed stays away; an old one has an heir."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pipeline.domain.events.upkeep_events import NoteHidden, NoteMoved
from pipeline.errors import SystemRefused
from pipeline.vault.identity import Decisions
from pipeline.vault.output import user_text
from pipeline.vault.output.frontmatter import Property, id_in
from pipeline.vault.output.user_text import NOTHING, UserText
from pipeline.vault.stages import Build
from tests.fakes import MemoryStore
from tests.vault.builders import OPEN, Story, Workplace, afresh, built, change, night, write_into


@pytest.mark.parametrize(
    ("room", "by_obsidian"),
    [("reports/", False), ("reports/", True), ("workers/", False), ("sources/", True), ("nights/", False), ("Home", True)],
)
def test_a_moved_note_stays_where_it_is_and_links_follow(place: Workplace, room: str, by_obsidian: bool) -> None:
    note = place.note(room)
    write_into(note, "my words")
    mine = place.vault / "trip.md"
    mine.write_text(f"---\n---\n\nSee [[{note.relative_to(place.vault).with_suffix('').as_posix()}|this]].")
    target = place.moved(note, f"Reading list/{note.stem} (good).md", by_obsidian=by_obsidian)
    count = len(place.files())
    report = place.build()
    assert report.moved == {note.relative_to(place.vault).as_posix(): target.relative_to(place.vault).as_posix()}
    assert report.set_aside == report.problems == report.hidden == ()
    assert not note.exists()
    assert "my words" in target.read_text()
    assert f"See [[Reading list/{target.stem}|this]]." in mine.read_text()
    assert len(place.files()) == count
    assert place.leading_nowhere() == []
    assert place.build().written == ()


def test_what_an_earlier_version_recorded_of_the_note_of_an_import_holds() -> None:
    decisions = Decisions()
    decisions.apply(NoteHidden(note="import:a"))
    assert decisions.hidden == {id_in('id: "import:a"\n')} == {"session:a"}
    decisions.apply(NoteMoved(note="import:a", path="x.md"))
    assert (decisions.paths, decisions.hidden) == ({"session:a": "x.md"}, set())


def test_a_deleted_note_stays_deleted_with_links_to_it_as_text_and_comes_back_when_put_back(place: Workplace) -> None:
    before, note = place.files(), place.note("sources/")
    name = note.relative_to(place.vault).as_posix()
    note.unlink()
    assert place.build().hidden == (name,)
    assert not note.exists()
    assert place.leading_nowhere() == []
    note.write_bytes(before[name])
    assert place.build().set_aside == ()
    assert place.files() == before
    note.unlink()
    place.build()
    (place.vault / "New" / "folder").mkdir(parents=True)
    (place.vault / "New" / "folder" / "again.md").write_bytes(before[name])
    assert place.build().moved == {name: "New/folder/again.md"}
    assert place.leading_nowhere() == []
    shutil.rmtree(place.vault / "New")
    assert place.build().hidden == ("New/folder/again.md",)


SHOWING = ("Home.md", "nights/2026-11-28.md", "nights/thirty-nights.svg")


@pytest.mark.parametrize("deleted", [["3f2a"], ["9c01"], ["3f2a", "9c01"]])
def test_quotes_that_a_visible_report_cites_stay_and_no_link_leads_nowhere_whichever_reports_are_deleted(
    place: Workplace, deleted: list[str]
) -> None:
    for end in deleted:
        place.note(f"reports/2026/how-does-an-append-only-log-survive-a-power-cut-{end}").unlink()
    assert len(place.build().hidden) == len(deleted)
    assert place.leading_nowhere() == []
    assert ("#^q-" in "".join(path.read_text() for path in place.vault.rglob("reports/**/*.md"))) == (len(deleted) == 1)
    home, night, picture = ((place.vault / name).read_text() for name in SHOWING)
    assert ["power cut" in home, "1 answered" in home, "1 answered" in night] == ["9c01" not in deleted] * 3
    assert f"\nreports: {2 - len(deleted)}\n" in home
    assert picture.count("1 answered") == 2 - len(deleted)
    assert (found := place.build("check")).written == found.removed == ()


def test_a_source_note_counts_no_deleted_report_even_one_that_it_no_longer_names(tmp_path: Path) -> None:
    store, previous = MemoryStore(), ""
    for day in range(10, 22):
        story = Story(store, id=f"2026-11-{day}-power-cut-00{day}", previous=previous, date=f"2026-11-{day}").whole()
        previous = story.id
    place = built(tmp_path / "w", store)
    assert "in 11 earlier reports" in place.note("sources/").read_text()
    place.note("reports/2026/how-does-an-append-only-log-survive-a-power-cut-0010").unlink()
    place.build()
    assert "in 10 earlier reports" in place.note("sources/").read_text()
    assert place.files() == afresh(place, tmp_path / "afresh")


@pytest.mark.parametrize("gone", [".", "reports", "sources", "../local"])
def test_a_deleted_vault_cache_or_folder_of_a_kind_hides_nothing_and_all_comes_back_byte_for_byte_in_a_copy_too(
    place: Workplace, gone: str
) -> None:
    place.moved(place.note("reports/"), "Good/one.md")
    place.note("workers/").unlink()
    place.build()
    before = place.files()
    shutil.rmtree(place.vault / gone)
    report = place.build()
    assert report.hidden == report.set_aside == ()
    assert place.files() == before == afresh(place, place.root / "copy")


def test_a_note_that_took_the_name_of_another_keeps_it_and_a_new_one_gives_way(place: Workplace) -> None:
    one, two = sorted((place.vault / "nights").glob("*.md"))
    write_into(one, "of one")
    write_into(two, "of two")
    late = place.moved(two, "nights/2026-12-05.md")
    place.moved(one, f"nights/{two.name}")
    night(place.store, Story(place.store, id=f"{late.stem}-tides-1111", date=late.stem).whole(), date=late.stem)
    assert place.build().set_aside == ()
    assert ("of one" in two.read_text(), "of two" in late.read_text()) == (True, True)
    shown = [re.findall("(?m)^id: .*", note.read_text()) for note in (two, late, *late.parent.glob(f"{late.stem}-*.md"))]
    assert shown == [[f'id: "night:{name}"'] for name in (one.stem, two.stem, late.stem)]
    assert place.leading_nowhere() == []
    assert place.build().written == ()


@pytest.mark.parametrize("name", ["my/draft.md", "reports/draft.md"])
def test_a_copy_without_an_id_or_among_the_own_notes_is_a_persons(place: Workplace, name: str) -> None:
    note = place.note("reports/")
    copy = place.vault / name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(note.read_text() if name.startswith("my/") else re.sub("(?m)^id: .*\n", "", note.read_text()))
    change(place.templates / "report.md.j2", '## {{ t("References") }}', "## Literature")
    before = copy.read_bytes()
    report = place.build()
    assert report.moved == report.united == {}
    assert copy.read_bytes() == before
    place.moved(note, "reports/moved.md")
    assert [*place.build().moved.values()] == ["reports/moved.md"]


def test_a_copy_that_a_synchronisation_left_is_united_with_the_note(place: Workplace) -> None:
    note = place.note("reports/")
    copy = note.with_name(f"{note.stem}.sync-conflict-20261205.md")
    shutil.copy(note, copy)
    write_into(note, "on the laptop")
    write_into(copy, "on the phone")
    report = place.build()
    assert report.united == {copy.relative_to(place.vault).as_posix(): note.relative_to(place.vault).as_posix()}
    assert report.set_aside == ()
    assert "on the laptop\non the phone\n" in note.read_text()
    assert not copy.exists()


def test_the_later_of_two_decisions_counts_whichever_file_it_came_in(place: Workplace) -> None:
    note = place.note("nights/")
    name = f"night:{note.stem}"
    place.record([NoteMoved(note=name, path="A/late.md")])
    place.record([NoteHidden(note=name), *(NoteMoved(note=one, path="B/later.md") for one in ("home", name))])
    place.store.streams["vault-0009"] = place.store.streams.pop("vault-0001")  # the earlier one is read last
    place.build()
    assert not note.exists()
    assert id_in((place.vault / "B" / "later.md").read_text().split("\n---\n")[0]) == "home"


@pytest.mark.parametrize("path", ["../out.md", "/out.md", ".obsidian/x.md", "attic/x.md", "no-note.txt", "a//b.md"])
def test_a_place_outside_the_vault_or_in_a_folder_of_the_program_is_not_taken(place: Workplace, path: str) -> None:
    before = place.files()
    place.record([NoteMoved(note="home", path=path)])
    assert place.build().problems == ()
    assert place.files() == before


def test_a_name_that_no_link_can_hold_leaves_plain_words_until_it_has_another(place: Workplace) -> None:
    odd = place.moved(place.note("sources/"), "odd [name] #1.md")
    assert place.build().problems == ()
    assert place.leading_nowhere() == []
    place.moved(odd, "plain.md")
    place.build()
    assert place.build(mode="all").written == ()


@pytest.mark.parametrize("is_replaced", [False, True])
@pytest.mark.parametrize("step", ["_stale_files", "_record"])
def test_a_vault_that_goes_away_during_a_build_is_reported_and_no_note_looks_removed(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, step: str, is_replaced: bool
) -> None:
    Story(place.store, id="2026-12-01-tide-0b0b", query="Tides?", query_id="tide").whole()
    away = place.root / "away"
    original = getattr(Build, step)

    def unmounting(*given: object) -> object:
        place.vault.rename(away)
        if is_replaced:  # the empty folder on which a drive was mounted
            place.vault.mkdir()
        return original(*given)

    with monkeypatch.context() as during:
        during.setattr(Build, step, unmounting)
        with pytest.raises(SystemRefused, match="went away") as refused:
            place.build()
    assert "no note counts as removed" in (refused.value.hint or "")
    assert place.store.marks(["vault"]) == {}
    if is_replaced:
        place.vault.rmdir()
    away.rename(place.vault)
    report = place.build()
    assert report.hidden == report.set_aside == report.problems == ()
    assert place.note("reports/2026/tides-0b0b").exists()
    assert place.build().written == ()


FIRST, NEWEST = ("reports/2026/how-does-an-append-only-log-survive-a-power-cut-" + tail for tail in ("3f2a", "9c01"))
OLD = {
    "question": ("questions/question-power-cut-ab12cd", "question:power-cut", f"[[{FIRST}|1]] [[{NEWEST}|2]]", NEWEST),
    "talk": ("talks/2026/talk-how-so-1a2b", "talk:talk-2026-11-21-x", f"[[{NEWEST}|deeper]] [[{FIRST}|about]]", NEWEST),
    "entity": ("entities/entity-log", "entity:log", f"- [[{FIRST}|1]]", FIRST),
    "memory": ("Memory", "memory", f"[[entities/entity-log|Log]] [[{FIRST}|1]]", "Home"),
}


def an_old_note(place: Workplace, kind: str, own: UserText = NOTHING) -> Path:
    """Put a note of a kind that earlier versions made into the vault, as in a clone: nothing is known of it."""
    path, name, body, _heir = OLD[kind]
    properties: dict[str, Property] = {"title": "Old", "kind": kind, "id": name, "tags": (f"research/{kind}",)}
    if kind == "talk":
        properties["session"] = f"[[{FIRST}|about]]"
    text = f"# Old\n\n{body}\n\n%% begin notes %%\n%% end notes %%\n"
    note = place.vault / f"{path}.md"
    note.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(place.state)
    note.write_text(user_text.compose(properties, text, own))
    return note


@pytest.mark.parametrize("words", ["my words\n", ""])
@pytest.mark.parametrize("kind", OLD)
def test_of_a_note_of_a_kind_that_is_gone_a_persons_words_go_to_the_attic_and_with_all_links_to_its_heir_once(
    place: Workplace, kind: str, words: str
) -> None:
    note = an_old_note(place, kind, UserText("rating: 3\n", {}, {"notes": words}) if words else NOTHING)
    was, (path, _name, _body, heir) = note.read_bytes(), OLD[kind]
    write_into(place.vault / f"{heir}.md", "written here")
    mine, ours = place.vault / "my" / "ideas.md", place.note("topics/")
    mine.parent.mkdir(exist_ok=True)
    mine.write_bytes(f"see [[{path}#What|this]] and [[{path.rpartition('/')[2]}]]\r\nnot [[{path}-2]]\r\n".encode())
    write_into(ours, f"as in [[{path}]]")
    report = place.build()
    assert (report.problems, report.removed) == ((), (f"{path}.md",))
    assert [(place.vault / copy).read_bytes() for copy in report.set_aside] == [was] * bool(words)
    assert f"{OPEN}written here\n{words}%% end notes %%" in (place.vault / f"{heir}.md").read_text()
    assert (path in (place.vault / f"{heir}.md").read_text().partition("\n---\n")[0]) is bool(words)
    assert mine.read_bytes() == f"see [[{heir}#What|this]] and [[{heir}]]\r\nnot [[{path}-2]]\r\n".encode()
    assert f"\nas in [[{heir}]]\n" in ours.read_text()
    mine.unlink()
    assert {path.partition("/")[0] for path, _target in place.leading_nowhere()} <= {"attic"}
    before = place.files()
    assert place.build().written == place.build("all").written == ()
    assert place.files() == before
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_bytes(was)  # as a synchronisation may bring it back
    shutil.rmtree(place.state)
    place.build()
    assert place.files() == before


def test_a_note_with_broken_markers_is_kept_in_the_attic_as_it_is(place: Workplace) -> None:
    note = an_old_note(place, "question", UserText(texts={"notes": "my words\n"}))
    note.write_text(note.read_text().replace("%% end notes %%", "%% end note %%"))
    was = note.read_bytes()
    report = place.build()
    assert not note.exists()
    assert (place.vault / report.set_aside[0]).read_bytes() == was
    assert "moved to attic/" in report.left_alone[0]
