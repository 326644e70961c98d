"""The notes on what is remembered: entities, the note on memory, and what topics know; they grow, and keep a person's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.batch.memory.consolidating import consolidate
from pipeline.batch.memory.reading import read_memory
from pipeline.batch.session_index import read_all
from pipeline.text.normalise import digest_of
from pipeline.vault import build_vault
from pipeline.vault.memory.quoting_sessions import distance, sessions_to_list
from tests.fakes import MemoryStore, context_for
from tests.vault.builders import TEMPLATES, Workplace, a_store, changed_templates, named_story


def remembered(store: MemoryStore, run: str = "run-8") -> MemoryStore:
    consolidate(store, context_for(run), read_all(store).sessions)
    return store


def a_place(root: Path, **fields: Any) -> Workplace:
    store = MemoryStore()
    named_story(store, **fields).whole()
    return Workplace(root, remembered(store))


def text_of(place: Workplace, path: str) -> str:
    return (place.vault / path).read_text()


def test_an_entity_has_a_note_with_links_to_its_quotes_and_its_night(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    place.build()
    note = text_of(place, "entities/entity-postgresql.md")
    assert "On a power cut, PostgreSQL replays its log." in note
    assert "\n21 November 2026\n" in note
    assert note.count("#^q-") == 3  # the definition, a statement, and one that is disputed
    assert "Where sources disagree" in note  # the survey's statement is disputed
    assert "<% alert" not in note
    assert "[[Home]]" not in note


def test_an_entitys_note_has_what_pages_say_beside_the_statements(tmp_path: Path) -> None:
    store = MemoryStore()
    story = named_story(store).whole()
    said = "PostgreSQL writes <% alert(1) %> to a log before each change. The office of PostgreSQL is closed."
    store.objects[digest_of(story.pages[0].encode())] = said.encode()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    _, _, more = text_of(place, "entities/entity-postgresql.md").partition("## More in the sources")
    assert "to a log before each change." in more
    assert "office" not in more
    assert "<% alert" not in more


def test_the_note_on_memory_lists_sources_searches_and_errors(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    place.build()
    note = text_of(place, "Memory.md")
    assert "[[entities/entity-postgresql|PostgreSQL]]" in note
    assert "logs.example" in note
    assert "search_0 power cut" in note
    assert "SearchFailed" in note


def test_a_topic_says_what_is_known_by_now(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    place.build()
    assert "## Known by now" in text_of(place, "topics/topic-crash-safety.md")


def test_without_memory_there_are_no_such_notes(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    assert not (place.vault / "Memory.md").exists()
    assert "Known by now" not in text_of(place, "topics/topic-crash-safety.md")


def test_a_second_build_writes_nothing_and_a_full_one_gives_the_same_bytes(tmp_path: Path) -> None:
    place = a_place(tmp_path / "one")
    place.build()
    before = place.files()
    assert place.build().written == ()
    again = Workplace(tmp_path / "two", place.store)
    again.build()
    assert again.files() == before


def test_building_after_each_night_gives_what_one_build_gives(tmp_path: Path) -> None:
    store = MemoryStore()
    place = Workplace(tmp_path / "one", store)
    first = named_story(store).whole()
    remembered(store)
    place.build()
    named_story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28").whole()
    place.build()
    remembered(store, "run-9")
    assert any(path.startswith("Memory") for path in place.build().written)
    whole = Workplace(tmp_path / "two", store)
    whole.build()
    assert place.files() == whole.files()


def test_a_persons_words_in_an_entitys_note_stay(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    place.build()
    note = place.vault / "entities" / "entity-postgresql.md"
    note.write_text(note.read_text().replace("%% begin notes %%\n", "%% begin notes %%\nAsk Ada.\n"))
    story = named_story(place.store, id="2026-11-28-power-cut-9c01", date="2026-11-28", query_id="again")
    story.whole()
    remembered(place.store, "run-9")
    place.build()
    assert "Ask Ada." in note.read_text()
    assert "quotes: 2" in note.read_text()


def test_the_note_of_an_entity_that_is_no_more_is_removed(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    place.build()
    for name in list(place.store.ids("memory")):
        del place.store.streams[name]
    removed = place.build().removed
    assert "entities/entity-postgresql.md" in removed
    assert "Memory.md" in removed


@pytest.mark.parametrize("mode", ["check", "all"])
def test_checking_and_rebuilding_find_nothing_to_change(tmp_path: Path, mode: Any) -> None:
    place = a_place(tmp_path)
    place.build()
    report = build_vault(place.store, templates=TEMPLATES, vault=place.vault, state_dir=place.state, mode=mode)
    assert (report.written, report.removed, report.problems) == ((), (), ())


@pytest.mark.parametrize(("kind", "path"), [("entity", "entities/entity-postgresql.md"), ("memory", "Memory.md")])
def test_an_edit_of_their_templates_renders_these_notes_alone(tmp_path: Path, kind: str, path: str) -> None:
    place = a_place(tmp_path)
    place.templates = changed_templates(tmp_path / "templates")
    place.build()
    template = place.templates / f"{kind}.md.j2"
    template.write_text(f"{template.read_text()}\nEdited.\n")
    assert place.build().written == (path,)


def test_reports_topics_and_home_lead_to_the_notes_of_names_and_these_back_to_all_reports(tmp_path: Path) -> None:
    store = MemoryStore()
    named_story(store).whole()
    named_story(store, id="2026-11-28-power-cut-9c01", date="2026-11-28", query_id="again").whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    link = "[[entities/entity-postgresql|PostgreSQL]]"
    reports = [path for path, text in place.files().items() if path.startswith("reports/") and link in str(text)]
    assert len(reports) == 2
    assert f"**Names in this report:** {link}" in text_of(place, reports[0])
    assert f"**Names on this topic:** {link}" in text_of(place, "topics/topic-crash-safety.md")
    assert "[[bases/entities.base|names]]" in text_of(place, "Home.md")
    listed = next(line for line in text_of(place, "entities/entity-postgresql.md").splitlines() if line.startswith("Reports: "))
    assert all(path.removesuffix(".md") in listed for path in reports)


def test_home_leaves_out_the_tables_of_what_there_is_none_of(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_store())
    place.build()
    assert "bases/entities.base" not in text_of(place, "Home.md")
    assert "bases/topics.base" in text_of(place, "Home.md")


def test_a_report_gets_its_names_when_they_are_remembered_and_loses_them_when_they_are_no_more(tmp_path: Path) -> None:
    store = MemoryStore()
    named_story(store).whole()
    place = Workplace(tmp_path, store)
    place.build()
    remembered(store)
    written = place.build().written
    (report,) = (path for path in written if path.startswith("reports/"))
    assert "Names in this report" in text_of(place, report)
    for name in list(store.ids("memory")):
        del store.streams[name]
    place.build()
    assert "Names in this report" not in text_of(place, report)


def test_mentions_are_shown_openly_if_little_else_is_known(tmp_path: Path) -> None:
    store = MemoryStore()
    story = named_story(store)
    claim = "The clerks had heard of PostgreSQL before."
    first, second, third, fourth, fifth = story.facts
    second = second.model_copy(update={"claim": claim, "quote": claim})
    story.facts = (first, second, third, fourth, fifth)
    story.whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    _, _, named = text_of(place, "entities/entity-postgresql.md").partition("## Also named in\n")
    assert f"- {claim}" in named
    assert "> [!quote]- Also named in" not in named


def test_a_note_lists_no_report_that_found_no_answer_and_no_kind_that_says_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    named_story(store).whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    before = text_of(place, "entities/entity-postgresql.md")
    assert "\nReports: " in before
    assert "\nFrom 2 sources, found on 21 November 2026." in before
    asked = next(iter(read_memory(store).sessions))
    memory = read_memory(store)
    memory.sessions[asked] = memory.sessions[asked].model_copy(update={"outcome": "not-found"})
    statements = [memory.statements[name] for name in memory.entities["postgresql"].statements]
    assert sessions_to_list(memory, statements) == set()


def test_a_statement_stands_under_the_report_that_asks_for_the_name(tmp_path: Path) -> None:
    store = MemoryStore()
    named_story(store, query="What survives a power cut?").whole()
    asking = {"id": "2026-11-28-postgres-9c01", "date": "2026-11-28", "query_id": "other"}
    named_story(store, query="What does PostgreSQL do?", **asking).whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    note = text_of(place, "entities/entity-postgresql.md")
    _, _, known = note.partition("## What is known\n")
    heading, _, rest = known.strip().partition("\n")
    assert "What does PostgreSQL do?" in heading
    assert "On a power cut, PostgreSQL replays its log." in rest.partition("\n### ")[0]


@pytest.mark.parametrize("claim", ["The log that PostgreSQL keeps", "The clerks use two parts of PostgreSQL:"])
def test_a_bare_heading_and_the_beginning_of_a_list_are_no_mentions(tmp_path: Path, claim: str) -> None:
    store = MemoryStore()
    story = named_story(store)
    first, second, third, fourth, fifth = story.facts
    second = second.model_copy(update={"claim": claim, "quote": claim})
    story.facts = (first, second, third, fourth, fifth)
    story.whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    assert claim.rstrip(":") not in text_of(place, "entities/entity-postgresql.md")


def test_what_the_report_gives_in_short_stands_nearest_to_its_question() -> None:
    store = MemoryStore()
    named_story(store).whole()
    memory = read_memory(remembered(store))
    ((name, session),) = memory.sessions.items()
    in_short = [memory.statements[fact] for fact in session.episode.facts]
    others = [one for fact, one in memory.statements.items() if fact not in session.episode.facts]
    assert in_short
    assert others
    near = {distance(memory, name, one, one.statement.quote)[0] for one in in_short}
    far = {distance(memory, name, one, one.statement.quote)[0] for one in others}
    assert (near, far) == ({False}, {True})


def test_a_report_that_does_not_cite_what_a_note_shows_is_not_listed() -> None:
    store = MemoryStore()
    named_story(store).whole()
    memory = read_memory(remembered(store))
    ((name, session),) = memory.sessions.items()
    found = [memory.statements[fact] for fact in memory.entities["postgresql"].statements]
    assert sessions_to_list(memory, found) == {name}
    uncited = tuple(one.model_copy(update={"cited": False}) for one in session.statements)
    memory.sessions[name] = session.model_copy(update={"statements": uncited})
    assert sessions_to_list(memory, found) == set()
