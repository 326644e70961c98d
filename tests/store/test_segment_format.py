from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import LogDamaged, LogForked
from pipeline.store.record_chain import ZEROS, RecordChain, join, open_line, parse, refuse_damage, seal
from tests.store.samples import record, records

NOTES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.integers()), st.dictionaries(st.text("ab"), st.none())
)


def lines_of(first: int, last: int, prev: bytes = ZEROS, note: object = "é J@ *") -> tuple[list[bytes], bytes]:
    lines = []
    for stored in records(range(first, last + 1), note=note):
        line, prev = seal(stored.data, prev)
        lines.append(line)
    return lines, prev


def three_segments() -> dict[str, bytes]:
    one, head = lines_of(1, 3)
    two, head = lines_of(4, 5, head)
    three, _ = lines_of(6, 8, head)
    names = ("000001-a.jsonl", "000004-b.jsonl", "000006-c.jsonl")
    return {name: b"".join(lines) for name, lines in zip(names, (one, two, three), strict=True)}


def read(files: dict[str, bytes]) -> RecordChain:
    return join(parse(path, content, "s-1") for path, content in files.items())


def load(files: dict[str, bytes]) -> list[int]:
    return [line.record.version for line in refuse_damage(read(files), "s-1").lines]


def refusal(files: dict[str, bytes]) -> str:
    try:
        load(files)
    except (LogDamaged, LogForked) as error:
        return f"{type(error).__name__}: {error.message}"
    return ""


@given(st.lists(NOTES, min_size=1, max_size=8))
def test_any_payloads_survive_sealing_and_parsing(notes: list[object]) -> None:
    stored = [record(version, note=note) for version, note in enumerate(notes, 1)]
    content, prev = b"", ZEROS
    for one in stored:
        line, prev = seal(one.data, prev)
        content += line
    segment = parse("x", content, "s-1")
    assert segment.finding is None
    assert [line.record for line in segment.lines] == stored


def test_a_line_is_the_record_with_two_fields_more() -> None:
    data = record(1).data
    line, digest = seal(data, ZEROS)
    assert line == data[:-1] + b',"prev":"' + ZEROS + b'","hash":"' + digest + b'"}\n'


def test_a_line_verifies_alone_and_not_with_any_bit_flipped() -> None:
    line = seal(record(1, note="ü").data, ZEROS)[0][:-1]
    assert open_line(line) is not None
    for position in range(len(line)):
        for bit in range(8):
            flipped = bytearray(line)
            flipped[position] ^= 1 << bit
            assert open_line(bytes(flipped)) is None


def test_a_sealed_line_without_an_envelope_does_not_verify() -> None:
    assert open_line(seal(b'{"id":"a"}', ZEROS)[0][:-1]) is None


def test_the_last_record_cut_at_every_byte_is_torn_and_nothing_else_is_lost() -> None:
    files = three_segments()
    whole = files["000006-c.jsonl"]
    last = whole[:-1].rfind(b"\n") + 1
    for end in range(last + 1, len(whole)):
        chain = read(files | {"000006-c.jsonl": whole[:end]})
        kept = 8 if end == len(whole) - 1 else 7
        assert [line.record.version for line in refuse_damage(chain, "s-1").lines] == list(range(1, kept + 1))
        assert [(finding.path, finding.line) for finding in chain.torn] == [("000006-c.jsonl", 3)]


def test_a_segment_that_ends_between_records_has_no_finding() -> None:
    files = three_segments()
    whole = files["000006-c.jsonl"]
    chain = read(files | {"000006-c.jsonl": whole[: whole[:-1].rfind(b"\n") + 1]})
    assert (chain.version, chain.findings) == (7, [])


def test_zeroed_tails_of_every_length_are_torn() -> None:
    files = three_segments()
    whole = files["000006-c.jsonl"]
    starts = [0, *(place + 1 for place, byte in enumerate(whole) if byte == 0x0A)]
    for zeros in range(1, len(whole) + 1):
        chain = read(files | {"000006-c.jsonl": whole[: len(whole) - zeros] + b"\0" * zeros})
        sound = sum(start <= len(whole) - zeros + 1 for start in starts[1:])
        assert refuse_damage(chain, "s-1").version == 5 + sound
        assert len(chain.torn) == 1


def test_zeros_after_the_last_record_are_torn() -> None:
    files = three_segments()
    for zeros in (1, 2, 511, 4096):
        chain = read(files | {"000006-c.jsonl": files["000006-c.jsonl"] + b"\0" * zeros})
        assert (refuse_damage(chain, "s-1").version, len(chain.torn)) == (8, 1)


def test_a_block_of_zeros_inside_the_last_record_is_torn_and_before_it_corrupt() -> None:
    files = three_segments()
    whole = files["000006-c.jsonl"]
    last = whole[:-1].rfind(b"\n") + 1
    holed = whole[: last + 20] + b"\0" * 64 + whole[last + 84 :]
    assert load(files | {"000006-c.jsonl": holed}) == list(range(1, 8))
    early = whole[:20] + b"\0" * 64 + whole[84:]
    assert "000006-c.jsonl:1: corrupt: a block of zero bytes" in refusal(files | {"000006-c.jsonl": early})


def test_one_flipped_bit_anywhere_is_refused_and_named_or_loses_nothing() -> None:
    files = three_segments()
    for name, content in files.items():
        for position in range(len(content)):
            for bit in range(8):
                flipped = bytearray(content)
                flipped[position] ^= 1 << bit
                damaged = files | {name: bytes(flipped)}
                refused = refusal(damaged)
                assert name in refused if refused else load(damaged) == list(range(1, 9))


def test_a_flip_in_the_very_last_line_end_keeps_the_record_and_is_reported() -> None:
    files = three_segments()
    whole = files["000006-c.jsonl"]
    for bit in range(8):
        chain = read(files | {"000006-c.jsonl": whole[:-1] + bytes([0x0A ^ 1 << bit])})
        assert refuse_damage(chain, "s-1").version == 8
        assert "the record itself is whole and kept" in chain.torn[0].message


def test_a_torn_end_is_sealed_by_the_segment_that_goes_on_before_it() -> None:
    files = three_segments()
    files["000004-b.jsonl"] += b'{"id":"s-1.6","sess'
    chain = read(files)
    assert (refuse_damage(chain, "s-1").version, chain.findings) == (8, [])


def test_a_record_cut_out_in_the_middle_is_refused() -> None:
    files = three_segments()
    first, second, third = files["000001-a.jsonl"].splitlines(keepends=True)
    assert "000001-a.jsonl:2: corrupt" in refusal(files | {"000001-a.jsonl": first + third})
    assert "000001-a.jsonl:2: corrupt" in refusal(files | {"000001-a.jsonl": first + third + second})
    assert "000004-b.jsonl:1: detached" in refusal(files | {"000001-a.jsonl": first + second})


def test_a_lost_segment_is_refused() -> None:
    for lost, named in (("000001-a.jsonl", "000004-b.jsonl"), ("000004-b.jsonl", "000006-c.jsonl")):
        files = three_segments()
        del files[lost]
        assert f"{named}:1: detached" in refusal(files)


def test_rewritten_line_ends_are_refused_by_name() -> None:
    files = three_segments()
    damaged = files | {"000004-b.jsonl": files["000004-b.jsonl"].replace(b"\n", b"\r\n")}
    assert "000004-b.jsonl:1: corrupt: the line ends in CR LF" in refusal(damaged)


def test_conflict_marks_are_refused_by_name() -> None:
    files = three_segments()
    lines = files["000006-c.jsonl"].splitlines(keepends=True)
    marked = b"".join([lines[0], b"<<<<<<< ours\n", lines[1], b"=======\n", lines[2], b">>>>>>> theirs\n"])
    assert "000006-c.jsonl:2: corrupt: a merge left its conflict marks" in refusal(files | {"000006-c.jsonl": marked})


def test_an_added_empty_line_is_refused() -> None:
    files = three_segments()
    assert "000006-c.jsonl:4: corrupt" in refusal(files | {"000006-c.jsonl": files["000006-c.jsonl"] + b"\n"})


def test_a_record_of_another_stream_is_refused() -> None:
    line, _ = seal(record(1, session="s-2").data, ZEROS)
    assert "x:1: corrupt: the record belongs to s-2" in refusal({"x": line})
    assert "x:1: corrupt: the record belongs to s-2" in refusal({"x": line[:-1]})


def test_two_segments_on_one_record_are_a_fork() -> None:
    files = three_segments()
    head = read({name: files[name] for name in list(files)[:2]}).head
    other, theirs = lines_of(6, 7, head, note="other")
    later, _ = lines_of(8, 8, theirs, note="other")
    forked = files | {"000006-d.jsonl": b"".join(other), "000008-d.jsonl": b"".join(later)}
    assert refusal(forked).startswith("LogForked")
    assert "fork: a second branch begins with version 6; the next run joins them" in refusal(forked)


def test_a_segment_on_a_record_inside_another_segment_is_a_fork() -> None:
    files = three_segments()
    base = read(files).lines[6].hash
    other, _ = lines_of(8, 9, base, note="other")
    assert refusal(files | {"000008-d.jsonl": b"".join(other)}).startswith("LogForked")


def test_damage_is_named_before_a_fork() -> None:
    files = three_segments()
    head = read({name: files[name] for name in list(files)[:2]}).head
    other, _ = lines_of(6, 7, head, note="other")
    forked = files | {"000006-d.jsonl": b"".join(other), "000001-a.jsonl": files["000001-a.jsonl"].replace(b"02:15", b"03:15")}
    assert refusal(forked).startswith("LogDamaged")


def test_a_repeated_record_is_the_same_record() -> None:
    files = three_segments()
    again, head = lines_of(7, 8, read(files).lines[5].hash)
    more, _ = lines_of(9, 9, head)
    for repeated in (again, again + more, again[:1]):
        chain = read(files | {"000007-c.jsonl": b"".join(repeated)})
        assert refuse_damage(chain, "s-1").version == (9 if more[0] in repeated else 8)


def test_the_order_of_file_names_does_not_matter() -> None:
    contents = list(three_segments().values())
    assert load(dict(zip(("c", "b", "a"), contents, strict=True))) == list(range(1, 9))


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_parser_fail(content: bytes) -> None:
    assert parse("x", content, "s-1").lines == []
