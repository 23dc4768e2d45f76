"""Items from files and to files: all lines or none, or each that is right, and each line once under a key."""

import csv
import io
import json
import tracemalloc
from typing import Any

import pytest
from work_items import add, make, rows, take

from bandmaster.items.exporting import exported
from bandmaster.items.item_lines import LINE_MAX_BYTES, FileFormat
from bandmaster.items.listing import Sought
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.items.uploading import LINES_A_PAGE, MOST_TOLD, Report
from bandmaster.ledger.database import Database
from bandmaster.scheduler.model.errors import InvalidRequest


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in values)


def upload(items: Items, data: bytes, kind: FileFormat = FileFormat.JSONL, **options: Any) -> Report:
    queue = items.queues.find("invoices")
    return items.uploading.upload(queue, io.BytesIO(data), kind, by="a test", **options)


def told(report: Report) -> list[tuple[int, str]]:
    return [(each.line, each.field) for each in report.told]


def test_each_line_is_an_item_with_its_fields(items: Items, database: Database) -> None:
    make(items)
    full = {"reference": "R-1", "priority": 7, "deadline_at": "2030-01-31T12:00:00Z", "payload": {"n": [1, None]}}
    report = upload(items, b"\xef\xbb\xbf" + jsonl(full, {}, {"postpone_until": "2099-01-01T00:00:00+01:00"}))
    assert (report.added, report.known, report.wrong) == (3, 0, 0)
    by_reference = {row["reference"]: row for row in rows(database)}
    assert len(rows(database)) == 3
    first = by_reference["R-1"]
    assert (first["rank"], first["deadline_ms"], json.loads(first["payload"])) == (
        -7,
        1_896_091_200_000,
        {"n": [1, None]},
    )
    assert sorted(row["status"] for row in rows(database)) == ["NEW", "NEW", "POSTPONED"]


def test_a_table_has_texts_of_the_payload_or_all_of_it(items: Items, database: Database) -> None:
    make(items)
    table = 'reference,priority,payload.name,payload.note\r\nA,3,Åse,"two\nlines"\r\n,,,\r\nB,0,=1+1,\r\n'
    assert upload(items, table.encode("utf-8-sig"), FileFormat.CSV).added == 3
    found = {row["reference"]: row["payload"] and json.loads(row["payload"]) for row in rows(database)}
    assert found == {"A": {"name": "Åse", "note": "two\nlines"}, None: None, "B": {"name": "=1+1"}}
    assert upload(items, b'payload\n"{""a"": 1}"\n', FileFormat.CSV).added == 1


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_wrong_is_told_with_its_line_and_hinders_only_who_wants_all(
    items: Items, database: Database, whole: bool
) -> None:
    make(items, payload_schema={"type": "object"})
    wrong: list[tuple[bytes, str]] = [
        (b"{", "line"),
        (b"\xff{}", "line"),
        (b"[1]", "line"),
        (b'{"payload": {}, "payload": {}}', "line"),
        (b'{"nothing": 1}', "nothing"),
        (b'{"priority": "high"}', "priority"),
        (b'{"payload": 3}', "payload"),
        (b'{"deadline_at": "tomorrow"}', "deadline_at"),
        (b'{"deadline_at": "2030-01-31T12:00:00"}', "deadline_at"),
        (b'{"reference": ""}', "reference"),
        (b" " * LINE_MAX_BYTES + b"{}", "line"),
    ]
    good = jsonl({"payload": {}})
    report = upload(items, good + b"".join(line + b"\n" for line, _ in wrong) + b"\n" + good, whole=whole)
    assert [line for line, _ in told(report)] == list(range(2, 2 + len(wrong)))
    assert [field.partition(".")[0] for _, field in told(report)] == [field for _, field in wrong]
    assert report.wrong == len(wrong)
    assert report.added == len(rows(database)) == (0 if whole else 2)


@pytest.mark.parametrize("whole", [True, False])
def test_a_reference_that_is_taken_is_told_and_with_all_nothing_stays(
    items: Items, database: Database, whole: bool
) -> None:
    add(items, make(items, enforce_unique_reference=True), reference="R-1")
    lines = [{"reference": f"R-{number}"} for number in range(LINES_A_PAGE + 3)]
    report = upload(items, jsonl(*lines, {"reference": "R-0"}), whole=whole)
    assert told(report) == [(2, "reference"), (LINES_A_PAGE + 4, "reference")]
    assert len(rows(database)) == (1 if whole else LINES_A_PAGE + 3)


def test_a_table_without_the_right_first_line_adds_nothing(items: Items, database: Database) -> None:
    make(items)
    for head in (
        b'"a"b,payload.c\n1,2\n',
        b"",
        b"name\n1\n",
        b"reference,reference\n",
        b"payload,payload.a\n",
        b"payload.\n",
    ):
        with pytest.raises(InvalidRequest, match="first line"):
            upload(items, head, FileFormat.CSV, whole=False)
    assert told(upload(items, b"reference,priority\nA\nB,1,2\n", FileFormat.CSV)) == [(2, "line"), (3, "line")]
    assert told(upload(items, b'reference\n"A\n', FileFormat.CSV)) == [(2, "line")]
    assert rows(database) == []


def test_what_is_not_utf8_is_told_as_that(items: Items, database: Database) -> None:
    make(items)
    latin = "reference,payload.city\nA,Oslo\nB,Tromsø\nC,Bodø,Norway\n".encode("latin-1")
    objects = b"".join(json.dumps({"reference": each}, ensure_ascii=False).encode("latin-1") + b"\n" for each in "aø")
    for data, kind, lines in ((latin, FileFormat.CSV, [3, 4]), (objects, FileFormat.JSONL, [2])):
        report = upload(items, data, kind)
        assert [(each.line, each.field, each.problem) for each in report.told] == [
            (line, "line", "it is not UTF-8") for line in lines
        ]
    for encoding in ("utf-16", "latin-1"):
        with pytest.raises(InvalidRequest, match=r"^the first line: it is not UTF-8"):
            upload(items, "reference,payload.grøße\nA,1\n".encode(encoding), FileFormat.CSV, whole=False)
    half = upload(items, b'payload\n"""\\ud800"""\n', FileFormat.CSV)
    assert [(each.line, "half of a surrogate pair" in each.problem) for each in half.told] == [(2, True)]
    assert rows(database) == []


def test_an_upload_that_is_repeated_adds_each_line_once(items: Items, database: Database) -> None:
    make(items)
    data = jsonl(*({"payload": number} for number in range(LINES_A_PAGE + 10)))
    killed = b"".join(data.splitlines(keepends=True)[:LINES_A_PAGE])
    assert upload(items, killed, whole=False, key="november").added == LINES_A_PAGE
    again = upload(items, data, whole=False, key="november")
    assert (again.added, again.known) == (LINES_A_PAGE + 10, LINES_A_PAGE)
    assert upload(items, data, key="november").known == LINES_A_PAGE + 10
    assert upload(items, data, key="december").known == 0
    assert len(rows(database)) == 2 * (LINES_A_PAGE + 10)
    other = upload(items, jsonl({"payload": "another"}), key="november")
    assert told(other) == [(1, "line")]


def test_only_the_first_problems_are_told_and_all_are_counted(items: Items) -> None:
    make(items)
    report = upload(items, b"x\n" * (MOST_TOLD + 50))
    assert (report.wrong, len(report.told)) == (MOST_TOLD + 50, MOST_TOLD)


def test_what_is_exported_can_be_uploaded_again(items: Items, database: Database) -> None:
    queue = make(items)
    values = [{"n": number, "text": "=Å\n"} for number in range(5)]
    for number, value in enumerate(values):
        add(items, queue, payload=value, reference=f"R-{number}", priority=-number, deadline_ms=1_896_091_200_000)
    (done,) = take(items, count=1)
    items.outcome.say(done.item_id, Said(Status.DONE, result={"booked": True}), robot_id="robot", fence=1)
    text = "".join(exported(items.store, Sought(queue.queue_id), FileFormat.JSONL))
    first = next(each for each in map(json.loads, text.splitlines()) if each["id"] == done.item_id)
    assert (first["status"], first["result"], first["robot_id"]) == ("DONE", {"booked": True}, "robot")
    others = make(items, "others")
    report = items.uploading.upload(others, io.BytesIO(text.encode()), FileFormat.JSONL, by="a test")
    assert (report.added, report.wrong) == (5, 0)
    copied = [row for row in rows(database) if row["queue_id"] == others.queue_id]
    assert sorted((row["reference"], row["rank"], json.loads(row["payload"])["n"]) for row in copied) == [
        (f"R-{number}", number, number) for number in range(5)
    ]
    assert {row["status"] for row in copied} == {"NEW"}


def test_a_table_that_is_exported_has_no_formulas(items: Items) -> None:
    queue = make(items)
    texts = ["=1+1", "+1", "-1", "@a", "\tx", "\rx", "plain"]
    for text in texts:
        add(items, queue, reference=text, payload=text, priority=-3)
    table = "".join(exported(items.store, Sought(queue.queue_id), FileFormat.CSV))
    found = list(csv.DictReader(io.StringIO(table, newline="")))
    assert {each["reference"] for each in found} == {*(f"'{text}" for text in texts[:-1]), "plain"}
    assert {each["payload"] for each in found} == {json.dumps(text, ensure_ascii=False) for text in texts}
    assert {each["priority"] for each in found} == {"-3"}


def test_an_export_keeps_one_page_in_memory(items: Items) -> None:
    queue = make(items)
    upload(items, jsonl(*({"payload": "x" * 2_000} for _ in range(3_000))))

    def peak(limit: int) -> int:
        tracemalloc.start()
        size = 0
        for piece in exported(items.store, Sought(queue.queue_id), FileFormat.JSONL):
            size += len(piece)
            if size > limit:
                break
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1)  # what is kept once
    assert peak(10**9) < 2 * peak(1_000_000)
