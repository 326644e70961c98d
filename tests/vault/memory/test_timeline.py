"""What became known on a topic over nights, and what a model said of each session, in the notes."""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.batch.memory.reading import read_memory
from pipeline.domain.memory.recall import MemoryIndex
from pipeline.vault.memory.timeline import MOST_OPENLY
from tests.batch.memory.test_consolidating_with_model import Model, ask
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace
from tests.vault.memory.test_memory_notes import remembered, text_of


def a_question_of_two_nights(*, model: bool) -> MemoryStore:
    store = MemoryStore()
    first = Story(store).whole()
    Story(store, id="2026-11-28-power-cut-9c01", previous=first.id, date="2026-11-28").whole()
    if model:
        ask(store, Model())
    else:
        remembered(store)
    return store


def test_a_topic_lists_its_nights_the_newest_first(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_question_of_two_nights(model=False))
    place.build()
    note = text_of(place, "topics/topic-crash-safety.md")
    nights = note[note.index("## Night by night") : note.index("\n## ", note.index("## Night by night") + 5)]
    assert nights.index("28 November 2026") < nights.index("21 November 2026")
    assert "new statement" in nights.splitlines()[3]
    assert "[[reports/" in nights


def test_older_nights_of_a_topic_are_folded(tmp_path: Path) -> None:
    store = MemoryStore()
    for number in range(MOST_OPENLY + 2):
        Story(store, id=f"2026-11-21-power-cut-{number:04x}", query_id=f"q{number}").whole()
    place = Workplace(tmp_path, remembered(store))
    place.build()
    assert "> [!quote]- 2 earlier sessions" in text_of(place, "topics/topic-crash-safety.md")


def test_a_models_sentences_are_in_the_notes_of_the_topic_and_of_the_question(tmp_path: Path) -> None:
    store = a_question_of_two_nights(model=True)
    said = [one.episode.sentences[0].text for one in read_memory(store).sessions.values()]
    place = Workplace(tmp_path, store)
    place.build()
    (question,) = (path for path in place.files() if path.startswith("questions/"))
    for path in ("topics/topic-crash-safety.md", question):
        note = text_of(place, path)
        assert "## Night by night" in note
        assert all(text.rstrip(".") in note for text in said)
    plain = Workplace(tmp_path / "plain", a_question_of_two_nights(model=False))
    plain.build()
    assert "Night by night" not in text_of(plain, question)


def test_a_models_sentences_are_recalled_for_the_plan_of_a_question_like_it() -> None:
    store = a_question_of_two_nights(model=True)
    memory = read_memory(store)
    one = next(iter(memory.sessions.values()))
    found = MemoryIndex(memory).recall(one.query, "other", (), "2026-12-24T00:00:00.000Z")
    assert {episode.text for episode in found.episodes} == {x.episode.sentences[0].text for x in memory.sessions.values()}
    assert MemoryIndex(memory).recall("What do bees eat?", "other", (), "2026-12-24T00:00:00.000Z").episodes == ()


def test_a_topic_leads_to_the_earlier_reports_of_a_question_by_their_day_and_what_was_new(tmp_path: Path) -> None:
    store = a_question_of_two_nights(model=False)
    Story(store, id="2026-12-05-power-cut-77aa", previous="2026-11-28-power-cut-9c01", date="2026-12-05").whole()
    place = Workplace(tmp_path, store)
    place.build()
    note = text_of(place, "topics/topic-crash-safety.md")
    links = re.findall(r"(?m)^- \[\[(reports/[^|\]]+)\|([^\]]+)\]\]$", note)
    assert [words for _path, words in links] == [
        "28 November 2026: 1 new fact, 1 changed and 1 gone",
        "21 November 2026: first report",
    ]
    assert all((place.vault / f"{path}.md").is_file() for path, _words in links)


def test_the_note_on_memory_has_one_line_for_a_search_however_often_it_helped(tmp_path: Path) -> None:
    place = Workplace(tmp_path, a_question_of_two_nights(model=False))
    place.build()
    searches = text_of(place, "Memory.md").partition("## Searches that worked\n")[2].partition("\n## ")[0].strip().splitlines()
    assert searches
    assert len({line.partition(": ")[0] for line in searches}) == len(searches)
    assert all(": 2 times, last on 28 November 2026 ([[" in line for line in searches)
