"""What lines of a file are read as, at their bounds."""

import io
import tracemalloc
from typing import Any

import pytest

from bandmaster.items.item_lines import LINE_MAX_BYTES, RECORD_MAX_CHARS, FileFormat, lines_of

DEEP = "[" * 100_000


def read(data: bytes, kind: FileFormat = FileFormat.JSONL) -> list[tuple[int, Any]]:
    """Each line's number with its fields, or with the field that is wrong."""
    return [
        (line.number, line.fields if line.problem is None else line.problem.field)
        for line in lines_of(io.BytesIO(data), kind)
    ]


def test_a_line_may_be_so_long_and_one_that_is_longer_is_passed_over_whole() -> None:
    longest = b"{}" + b" " * (LINE_MAX_BYTES - 3) + b"\n"
    assert len(longest) == LINE_MAX_BYTES
    last = b'{"reference": "last"}'
    assert read(longest + last) == [(1, {}), (2, {"reference": "last"})]
    for longer in (b" " + longest, 3 * longest[:-1] + b"\n", 2 * longest[:-1] + b"\n"):
        assert read(longer + b"\n" + last) == [(1, "line"), (3, {"reference": "last"})]


def test_an_object_may_say_of_a_field_that_it_has_none() -> None:
    given = b'{"reference": null, "priority": null, "deadline_at": null, "postpone_until": null, "payload": null}'
    fields = {"reference": None, "priority": 0, "deadline_ms": None, "available_ms": None, "payload": None}
    assert read(given) == [(1, fields)]


@pytest.mark.parametrize("given", ["1893499200", "true", '"2030-01-31"', '"2030-01-31T12:00:00"', '""'])
def test_what_is_no_time_is_told(given: str) -> None:
    assert read(b'{"deadline_at": %s}' % given.encode()) == [(1, "deadline_at")]


def test_what_is_too_deep_is_no_json() -> None:
    assert read(DEEP.encode() + b"\n{}\n") == [(1, "line"), (2, {})]
    assert read(f"payload\n{DEEP}\n1\n".encode(), FileFormat.CSV) == [(2, "payload"), (3, {"payload": 1})]


def test_what_an_export_tells_besides_is_left_out() -> None:
    assert read(b'{"id": "1", "status": "DONE", "reference": "A"}') == [(1, {"reference": "A"})]
    assert read(b"id,status,reference\n1,DONE,A\n", FileFormat.CSV) == [(2, {"reference": "A"})]


def test_a_cell_may_be_as_long_as_a_line_and_keeps_its_line_breaks() -> None:
    long = "x" * (LINE_MAX_BYTES - 10)
    table = f'payload.a,priority\r\n{long},1\r\n\r\n"b\r\nc\nd",\r\n'.encode()
    assert read(table, FileFormat.CSV) == [
        (2, {"payload": {"a": long}, "priority": 1}),
        (6, {"payload": {"a": "b\r\nc\nd"}}),
    ]


def test_after_what_is_no_csv_nothing_is_read() -> None:
    assert read(b'reference\nA\n"B"b\nC\n', FileFormat.CSV) == [(2, {"reference": "A"}), (3, "line")]
    assert read(b"reference\n" + b"x" * (LINE_MAX_BYTES + 1) + b"\nC\n", FileFormat.CSV) == [(2, "line")]


@pytest.mark.parametrize("piece", [b",", b'"\n",'])
def test_an_endless_line_of_a_table_takes_no_memory(piece: bytes) -> None:
    data = b"reference\nA\n" + piece * 12_000_000
    tracemalloc.start()
    try:
        (first, *told) = read(data, FileFormat.CSV)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (first, [field for _, field in told]) == ((2, {"reference": "A"}), ["line"])
    assert most < 32 * RECORD_MAX_CHARS


def test_cells_are_as_many_as_names() -> None:
    rows = b"reference, priority \nA\nB,1,2\nC,3\nD,high\n"
    told = [(2, "line"), (3, "line"), (4, {"reference": "C", "priority": 3}), (5, "priority")]
    assert read(rows, FileFormat.CSV) == told


def test_a_table_may_have_more_than_one_line_may() -> None:
    lines = b"x" * 200_000 + b"\n"
    found = read(b"reference\n" + lines * 10, FileFormat.CSV)
    assert [type(fields) for _, fields in found] == [dict] * 10
