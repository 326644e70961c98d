"""Events: canonical JSON there and back, what newer and older programs wrote, what is no event."""

from __future__ import annotations

import contextlib
import json
import logging
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain import fold
from pipeline.domain.events import json_codec
from pipeline.domain.events import session_events as e
from pipeline.domain.research_values import Cost
from pipeline.domain.session_state import SessionState
from pipeline.errors import LogDamaged, SchemaTooNew
from pipeline.text.cleaning import clean
from tests.recorded import records

CLASSES: tuple[type[e.EventBase], ...] = tuple(dict.fromkeys(json_codec.MODELS.values()))
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: st.integers(-(2**60), 2**60),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type, however nested."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        if arguments[-1] is not Ellipsis:
            return st.tuples(*map(values_of, arguments))
        return st.lists(values_of(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(*map(values_of, arguments), max_size=2)
    if origin in {Union, types.UnionType}:
        return st.one_of(*map(values_of, arguments))
    return instances(annotation)


def instances(kind: type[Any]) -> st.SearchStrategy[Any]:
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name != "model_config"}
    fields = {name: values_of(hint) for name, hint in hints.items()}
    return st.builds(kind, **(fields | {"at": st.sampled_from(["", "2026-11-21T02:15:00.123Z"])} if "at" in fields else fields))


def run_of(schema: str) -> bytes:
    return json_codec.encode(e.RunStarted(schema_version=schema))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_the_same_event_and_the_same_bytes(kind: type[e.EventBase]) -> None:
    @settings(max_examples=10, deadline=None)
    @given(instances(kind))
    def there_and_back(event: e.EventBase) -> None:
        if isinstance(event, e.RunStarted):
            event = event.model_copy(update={"schema_version": e.SCHEMA})
        data = json_codec.encode(event)
        again = json_codec.decode(data)
        assert type(again) is kind
        assert again == event
        assert json_codec.encode(again) == data

    there_and_back()


def test_what_is_no_longer_recorded_is_read_over_with_its_cost_and_keeps_its_bytes(caplog: pytest.LogCaptureFixture) -> None:
    data = (
        b'{"id":"x","session_id":"s1","version":1,"type":"section.written","at":"","run_id":"r","step":"Section:s1",'
        b'"cost":' + Cost(usd=0.5).model_dump_json().encode() + b',"exchange":"","seconds":null,"section_id":"s1"}'
    )
    event, state = json_codec.decode(data), SessionState(id="s1")
    fold.apply(state, event)
    assert json_codec.encode(event) == data
    assert (state.spent.usd, caplog.records) == (0.5, [])


def test_the_canonical_json_is_one_line_that_begins_with_the_envelope() -> None:
    for record in records():
        assert b"\n" not in record.data
        assert list(json.loads(record.data))[:6] == ["id", "session_id", "version", "type", "at", "run_id"]


def test_unknown_fields_of_a_newer_minor_version_survive_in_the_event_and_in_its_values() -> None:
    data = (
        b'{"type":"facts.observed","worker_id":"w","iteration":1,"url":"u","digest":"d",'
        b'"facts":[{"id":"f","claim":"c","quote":"q","url":"u","digest":"d","mood":"calm"}],"weather":{"rain":[1,2]}}'
    )
    again = json.loads(json_codec.encode(json_codec.decode(data)))
    assert again["weather"] == {"rain": [1, 2]}
    assert again["facts"][0]["mood"] == "calm"


def test_an_unknown_type_is_kept_whole_and_skipped_by_the_fold_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    data = b'{"id":"x","session_id":"s1","version":1,"type":"moon.rose","at":"","run_id":"r","phase":"full"}'
    event = json_codec.decode(data)
    assert isinstance(event, e.UnknownEvent)
    assert json_codec.encode(event) == data
    state = SessionState(id="s1")
    with caplog.at_level(logging.WARNING):
        fold.apply(state, event)
    assert [record.getMessage().count("moon.rose") for record in caplog.records] == [1]
    assert state == SessionState(id="s1", version=1)


@pytest.mark.parametrize("schema", ["3.0", "17.3", "one", ""])
def test_a_newer_major_schema_is_refused_with_what_to_do(schema: str) -> None:
    with pytest.raises(SchemaTooNew) as caught:
        json_codec.decode(run_of(schema))
    assert "upgrade" in caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"[]",
        b"{}",
        b'{"type":5}',
        b'{"type":"moon.rose","version":"many"}',
        b'{"type":"page.read"}',
        b'{"type":"worker.failed","worker_id":7,"reason":"r"}',
        b'{"type":"worker.failed","worker_id":"\xff","reason":"r"}',
        b'{"type":"worker.failed","worker_id":"\\ud800","reason":"r"}',
    ],
)
def test_what_is_no_event_is_damage(data: bytes) -> None:
    with pytest.raises(LogDamaged):
        json_codec.decode(data)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_an_altered_record_is_an_event_or_damage_and_nothing_else(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from(records()), label="record").data)
    place = data.draw(st.integers(0, len(whole) - 1), label="place")
    whole[place : place + data.draw(st.integers(0, 9), label="dropped")] = data.draw(st.binary(max_size=3), label="put in")
    with contextlib.suppress(LogDamaged, SchemaTooNew):
        assert isinstance(json_codec.decode(bytes(whole)), e.EventBase)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_hold_never_becomes_a_value(number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Cost(usd=number)


@given(st.text(st.characters(codec=None), max_size=30))
def test_cleaned_text_can_always_be_stored(text: str) -> None:
    event = e.WorkerFailed(worker_id="w", reason=clean(text + "\ud800"))
    assert json_codec.decode(json_codec.encode(event)) == event
