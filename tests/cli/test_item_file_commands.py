"""`bandmaster item upload` and `item export` with the real command."""

import json
from collections.abc import Iterator

import pytest
from cli.driving import Driver, driving

pytestmark = pytest.mark.slow

QUEUE = "invoices-of-files"


@pytest.fixture(scope="module")
def beside() -> Iterator[Driver]:
    """Commands in a folder where nothing runs, with a queue."""
    with driving() as driver:
        driver.json("queue", "create", QUEUE, "--unique")
        yield driver


def count(driver: Driver, status: str = "NEW") -> int:
    return driver.json("queue", "stats", QUEUE)["counts"][status]


def test_a_table_is_uploaded_and_exported_and_what_is_wrong_is_told(beside: Driver) -> None:
    (beside.folder / "two.csv").write_text("reference,payload.name\nA,Ann\nB,Bob\n")
    assert beside.run("item", "upload", QUEUE, "two.csv").out == "2 items are added\n"
    again = beside.run("item", "upload", QUEUE, "two.csv", "--each")
    assert (again.code, again.out) == (5, "0 items are added; 2 lines are refused\n")
    assert "line 2: reference: " in again.err
    assert beside.run("item", "export", QUEUE, "--output", "all.csv").code == 0
    assert (beside.folder / "all.csv").read_text().startswith("id,status,reference,")
    assert not list(beside.folder.glob("*.part"))
    exported = [json.loads(line) for line in beside.run("item", "export", QUEUE, "--status", "NEW").out.splitlines()]
    assert {(each["reference"], each["payload"]["name"]) for each in exported} == {("A", "Ann"), ("B", "Bob")}
    assert beside.run("item", "export", QUEUE, "--status", "DONE").out == ""


def test_all_or_none_and_once_under_a_key(beside: Driver) -> None:
    before = count(beside)
    refused = beside.run("item", "upload", QUEUE, "-", "--json", stdin=b'{"reference": "C"}\n{"priority": "x"}\n')
    assert refused.code == 5
    assert json.loads(refused.out) == {
        "added": 0,
        "known": 0,
        "refused": 1,
        "problems": [{"line": 2, "field": "priority", "problem": "it is out of bounds"}],
    }
    assert count(beside) == before
    lines = b'{"reference": "C"}\n{"reference": "D"}\n'
    for said in ("2 items are added\n", "2 items are added, 2 of them before\n"):
        assert beside.run("item", "upload", QUEUE, "-", "--key", "november", stdin=lines).out == said
    assert count(beside) == before + 2


def test_wrong_usage_is_told_and_does_nothing(beside: Driver) -> None:
    before = count(beside)
    for words, said in (
        (("upload", QUEUE, "two.csv", "--key", ""), "bandmaster: --key: '' is none"),
        (("upload", QUEUE, "nowhere.csv"), "nowhere.csv cannot be read"),
        (("upload", QUEUE, "-", "--format", "xml"), "'xml' is none; allowed: jsonl, csv"),
        (("export", QUEUE, "--status", "GONE"), "'GONE' is no status"),
        (("export", QUEUE, "--output", "nowhere/all.csv"), "nowhere/all.csv cannot be written"),
    ):
        answer = beside.run("item", *words, stdin=b"{}\n")
        assert (answer.code, answer.out) == (2, ""), answer
        assert said in answer.err
    assert beside.run("item", "upload", "no-such-queue", "-", stdin=b"{}\n").code == 3
    assert count(beside) == before
