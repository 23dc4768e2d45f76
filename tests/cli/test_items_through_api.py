"""A command about queues of items through the API says what it says beside the ledger's database in the same state."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from cli.driving import Answer
from cli.through_api import Sides, constant, constant_json
from pydantic import JsonValue
from receiver import receiving

pytestmark = pytest.mark.slow

QUEUE: Final = "through-the-api"
FILED: Final = "filed-through-the-api"
TRIGGER: Final = "fires-through-the-api"
UNKNOWN: Final = "01a21bed-da25-7427-8fae-9d5c2e791d82"
LAST: Final = "LAST"
"""In a line, stands for the item that was added last."""

OF_ITEMS: Final = {
    "queue": ["queue"],
    "queue create": [
        *("queue create made --max-retries 2 --unique --description text --lease 60 --retry 5", "queue create made"),
        *(
            "queue",
            "queue create made! --lease 5",
            "queue create other --lease 0",
            "queue create other --notify ftp://x",
        ),
        *("queue create wanting --schema schema.json", "item add wanting 1", "item add wanting '\"a\"'"),
        *("queue create other --schema wrong.json", "queue create other --schema none.json", "queue delete wanting"),
        *(
            "queue create other --schema text.txt",
            "queue create other --schema infinite.json",
            "queue delete wanting --force --yes",
            "queue delete made",
        ),
    ],
    "queue change": [
        *("queue create made", "queue change made --inactive", "item add made 1", "queue change made --active"),
        *("queue change made --lease 7 --notify https://hooks.example/a", "queue change made --notify ''"),
        *("queue change made --schema schema.json", "item add made 1", "queue change made --schema ''"),
        *("queue change nobody --active", "queue change made --notify http://169.254.169.254/", "queue delete made"),
    ],
    "queue delete": ["queue delete nobody", "queue delete a/b", f"queue delete {QUEUE}", "queue delete x --force"],
    "queue stats": [f"queue stats {QUEUE}", "queue stats nobody"],
    "queue test-notify": [f"queue test-notify {QUEUE}", "queue test-notify nobody", "queue test-notify heard"],
    "item": [
        *("item", f"item --queue {QUEUE}", f"item --queue {QUEUE} -n 1 --status NEW", "item --reference seventeen"),
        *("item --queue nobody", "item --status ASLEEP", "item --reference ''"),
    ],
    "item add": [
        *("queue create made --unique", "item add made '{\"a\": [1, 2.50]}' --reference r -p 7", f"item show {LAST}"),
        *(
            "item add made 1 --reference r",
            "item add made 'no json'",
            "item add made 1e999",
            "item add made NaN",
            "item add nobody 1",
            f"item delete {LAST}",
        ),
        *("item --queue made --status DELETED", "queue delete made --force --yes"),
    ],
    "item upload": [
        *(f"item upload {FILED} good.csv --key k", f"item upload {FILED} good.csv --key k", f"item --queue {FILED}"),
        *(
            f"item upload {FILED} bad.jsonl",
            f"item upload {FILED} bad.jsonl --each",
            f"item upload {FILED} none.csv",
            f"item upload {FILED} good.csv --key ä",
            f"item upload {FILED} good.csv --key ''",
        ),
        *("item upload nobody good.csv", f"item upload {FILED} good.csv --format xml", f"queue stats {FILED}"),
    ],
    "item export": [
        *(f"item export {QUEUE} --format csv", f"item export {QUEUE} --status FAILED", "item export nobody"),
        f"item export {QUEUE} --output /nowhere/at/all.csv",
    ],
    "item show": [f"item show {UNKNOWN}", "item show x/y", "item show x_y", "item show next"],
    "item retry": [f"item retry {UNKNOWN}", f"item add {QUEUE} 1", f"item retry {LAST}", f"item delete {LAST}"],
    "item postpone": [
        *(f"item add {QUEUE} 1", f"item postpone {LAST} --for 12h", f"item show {LAST}", f"item retry {LAST}"),
        *(f"item postpone {LAST} --for long", f"item postpone {UNKNOWN} --for 12h", f"item delete {LAST}"),
    ],
    "item delete": [f"item delete {UNKNOWN}", f"item add {QUEUE} 1", f"item delete {LAST}", f"item delete {LAST}"],
    "notifications": [
        "notifications --queue nobody",
        "notifications --queue a --trigger b",
        "notifications --queue 'a b'",
    ],
    "trigger": ["trigger"],
    "trigger list": ["trigger list"],
    "trigger show": [f"trigger show {TRIGGER}", "trigger show nobody"],
    "trigger create": [
        f"trigger create made --queue {QUEUE} --command 'python3 -m book' --batch 10 --disabled --priority high",
        *("trigger create made --cron '0 6 1 1 *' --command true", "trigger show made", "trigger list"),
        *("trigger create other --cron '61 * * * *' --command true", "trigger create other --command true"),
        *("trigger create other --queue nobody --command true", "trigger create other --cron '0 6 1 1 *' --command ''"),
        *(
            "trigger create other --cron '0 6 1 1 *' --command true --priority urgent",
            "trigger create other --cron '0 6 1 1 *' --command true --tz Mars/Olympus",
            "trigger delete made",
        ),
    ],
    "trigger change": [
        f"trigger create made --queue {QUEUE} --command true --disabled",
        *("trigger change made --max-jobs 4 --command 'echo a b'", "trigger change made --cron '0 6 1 1 *'"),
        *("trigger change nobody --disabled", "trigger change made --timeout 99999999999", "trigger delete made"),
    ],
    "trigger delete": ["trigger delete nobody", "trigger delete a/b"],
    "trigger test-notify": ["trigger test-notify nobody", f"trigger test-notify {TRIGGER}"],
}
"""Command → a sequence that leaves the state as it was; played beside the database, then through the API."""

IN_CHECK: Final = (
    *("queue create", "queue change", "queue stats"),
    *("item add", "item upload", "item show", "item retry"),
    *("trigger create", "trigger change"),
)
"""Of each kind of answer one: what was made or changed, figures, an item, many of them, one that is unknown."""

_OF_ONE: Final = ("id", "queue_id", "external_id", "created_by")
"""Members that an item or a queue has for itself."""
_LINES: Final = re.compile(r"^(queue_id|created_by): .*$", re.MULTILINE)


@pytest.fixture(scope="module")
def filled(sides: Sides) -> Iterator[Sides]:
    """Two queues, the one with items and a failure, a trigger, files; and a queue with a receiver's address."""
    driver = sides.driver
    for name, text in {
        "schema.json": '{"type": "string"}',
        "wrong.json": '{"type": "strange"}',
        "text.txt": "no json",
        "infinite.json": '{"maximum": 1e999}',
        "good.csv": "reference,payload.amount\nfirst,5\nsecond,=1+1\n",
        "bad.jsonl": '{"payload": 1}\n{"priority": "high"}\nno json\n',
    }.items():
        (driver.folder / name).write_text(text)
    with receiving(204) as receiver:
        driver.json("queue", "create", QUEUE)
        driver.json("queue", "create", FILED)
        driver.json("queue", "create", "heard", "--notify", receiver.url)
        driver.json("item", "add", QUEUE, '{"=a": "ä"}', "--reference", "seventeen")
        driver.json("item", "add", QUEUE, "1", "-p", "9")
        driver.json("trigger", "create", TRIGGER, "--cron", "0 6 1 1 *", "--command", "true")
        yield sides
    driver.json("trigger", "delete", TRIGGER)
    for queue in (QUEUE, FILED, "heard"):
        driver.json("queue", "delete", queue, "--force", "--yes")


def said(answer: Answer) -> tuple[int, Any, list[str]]:
    """What was answered, without what is an item's or a queue's own, and where it comes from."""
    out: Any = constant(_LINES.sub("", answer.out))
    if answer.out.startswith("{\n"):
        out = constant_json(plain(answer.json))
    elif answer.out.startswith("{"):
        out = [constant_json(plain(json.loads(line))) for line in answer.out.splitlines()]
    return answer.code, out, [constant(line) for line in answer.err.splitlines()]


def plain(document: JsonValue) -> JsonValue:
    match document:
        case dict():
            return {name: plain(value) for name, value in document.items() if name not in _OF_ONE and name != "api"}
        case list():
            return [plain(each) for each in document]
        case _:
            return document


@pytest.mark.parametrize("is_json", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "command",
    [each if each in IN_CHECK else pytest.param(each, marks=pytest.mark.nightly) for each in OF_ITEMS],
)
def test_what_is_done_with_items_is_the_same_through_the_api(filled: Sides, command: str, is_json: bool) -> None:
    played: list[list[tuple[str, tuple[int, Any, list[str]]]]] = []
    for number, run in enumerate((filled.beside, filled.through)):
        answers: list[tuple[str, tuple[int, Any, list[str]]]] = []
        if command == "item upload":
            # The key of an upload is known for a while.
            filled.driver.json("queue", "delete", FILED, "--force", "--yes")
            filled.driver.json("queue", "create", FILED)
        last = UNKNOWN
        for line in OF_ITEMS[command]:
            words = [
                last if word == LAST else f"{word}-{number}" if word == "k" else word for word in shlex.split(line)
            ]
            has_json = is_json and words[:2] != ["item", "export"]
            answer = run(*words, *(["--json"] if has_json else []))
            if line.startswith("item add") and answer.code == 0:
                found = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer.out)
                assert found is not None, answer
                last = found.group()
            answers.append((line, said(answer)))
        played.append(answers)
    assert [pair for pair in zip(*played, strict=True) if pair[0] != pair[1]] == []


def test_a_file_goes_through_the_api_and_comes_back_whole(filled: Sides, tmp_path: Path) -> None:
    driver, copied = filled.driver, "copied-through-the-api"
    lines = [json.dumps({"reference": f"r{number}", "payload": {"ö": number}}) for number in range(3000)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    driver.json("queue", "create", copied)
    added = filled.through("item", "upload", copied, str(tmp_path / "many.jsonl"), "--key", "once", "--json").json
    assert (added["added"], added["known"], added["refused"]) == (3000, 0, 0)
    again = filled.through("item", "upload", copied, str(tmp_path / "many.jsonl"), "--key", "once", "--json").json
    assert (again["added"], again["known"]) == (3000, 3000)
    for run, name in ((filled.beside, "beside"), (filled.through, "through")):
        assert run("item", "export", copied, "--output", str(tmp_path / name)).code == 0
    assert (tmp_path / "beside").read_bytes() == (tmp_path / "through").read_bytes()
    exported = [json.loads(line) for line in (tmp_path / "through").read_text().splitlines()]
    assert {each["reference"] for each in exported} == {f"r{number}" for number in range(3000)}
    assert len(filled.through("item", "--queue", copied, "-n", "450", "--json").json["items"]) == 450
    piped = driver.run(*filled.options, "item", "upload", copied, "-", stdin=b'{"payload": "from a pipe"}\n')
    assert (piped.code, piped.out) == (0, "1 items are added\n")
    driver.json("queue", "delete", copied, "--force", "--yes")


def test_who_changed_it_through_the_api_is_the_owner_of_the_token(filled: Sides) -> None:
    added = filled.through("item", "add", QUEUE, '"of the token"', "--json").json["item"]
    beside = filled.beside("item", "add", QUEUE, '"of the user"', "--json").json["item"]
    assert added["created_by"] != beside["created_by"]
    for each in (added, beside):
        filled.driver.json("item", "delete", each["id"])


def test_where_no_api_answers_it_is_said(filled: Sides) -> None:
    answer = filled.driver.run("--url", "http://127.0.0.1:9", "--token-file", "var/api-token", "queue")
    assert (answer.code, answer.out) == (4, "")
    assert "did not answer" in answer.err
