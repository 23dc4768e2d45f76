"""`bandmaster queue` and `bandmaster item` with the real command: beside the ledger, which is all that they need."""

from collections.abc import Iterator

import pytest
from cli.driving import Driver, driving

pytestmark = pytest.mark.slow

QUEUE = "invoices-of-commands"
NOBODY = "01a21bed-da25-7427-8fae-9d5c2e791d82"


@pytest.fixture(scope="module")
def beside() -> Iterator[Driver]:
    """Commands in a folder where nothing runs, with a queue."""
    with driving() as driver:
        made = driver.json("queue", "create", QUEUE, "--max-retries", "2", "--unique", "--description", "of the test")
        assert (made["queue"]["name"], made["queue"]["max_retries"]) == (QUEUE, 2)
        yield driver


def added(driver: Driver, *options: str) -> str:
    """Add an item; its id."""
    return driver.json("item", "add", QUEUE, '{"invoice": 17}', *options)["item"]["id"]


def test_without_a_ledger_it_is_said_what_is_missing_and_nothing_is_made(idle: Driver) -> None:
    for words in (("queue",), ("item",), ("queue", "stats", QUEUE), ("item", "add", QUEUE)):
        answer = idle.run(*words)
        assert (answer.code, answer.out) == (2, ""), answer
        assert "set ledger.url if it is elsewhere" in answer.err
    assert not (idle.folder / "var").exists()


def test_queues_are_listed_changed_counted_and_deleted(beside: Driver) -> None:
    name = "receipts-of-commands"
    assert beside.run("queue", "create", name).out == f"{name} is active, with 0 retries\n"
    twice = beside.run("queue", "create", name)
    assert (twice.code, f"there is a queue '{name}' already" in twice.err) == (5, True)
    changed = beside.json("queue", "change", name, "--inactive", "--max-retries", "4", "--lease", "60", "--retry", "7")
    told = changed["queue"]
    assert (told["is_active"], told["max_retries"], told["lease_seconds"], told["retry_seconds"]) == (False, 4, 60, 7)
    assert {each["name"] for each in beside.json("queue")["queues"]} == {QUEUE, name}
    (row,) = (line for line in beside.run("queue").out.splitlines() if line.startswith(name))
    assert row.split() == [name, "4", "60", "s", "inactive"]
    refused = beside.run("item", "add", name)
    assert (refused.code, refused.out) == (5, "")
    counted = beside.json("queue", "stats", name)
    assert set(counted["counts"].values()) == {0}
    assert beside.run("queue", "stats", name).out.splitlines()[-1] == "failed: 0 application, 0 business"
    assert beside.json("queue", "delete", name) == {"name": name, "items": 0}
    assert beside.run("queue", "delete", name).code == 3


def test_a_priority_out_of_bounds_is_refused_before_anything_is_kept(beside: Driver) -> None:
    before = beside.json("queue", "stats", QUEUE)["counts"]
    for priority in ("2147483648", "-2147483648", "99999999999999999999"):
        answer = beside.run("item", "add", QUEUE, "1", "--priority", priority)
        assert (answer.code, answer.out) == (2, ""), answer
    assert beside.json("queue", "stats", QUEUE)["counts"] == before


def test_a_queue_with_items_is_deleted_by_force_only_and_when_that_is_confirmed(beside: Driver) -> None:
    name = "drafts-of-commands"
    beside.json("queue", "create", name)
    beside.json("item", "add", name, '"a text"')
    assert beside.run("queue", "delete", name).code == 5
    asked = beside.run("queue", "delete", name, "--force", stdin=b"n\n")
    assert asked.code != 0
    assert beside.json("queue", "stats", name)["counts"]["NEW"] == 1
    assert beside.run("queue", "delete", name, "--force", "--yes").out == f"{name} deleted, with 1 items\n"
    assert beside.run("item", "--queue", name).code == 3


def test_an_item_is_added_shown_postponed_retried_and_deleted(beside: Driver) -> None:
    item = added(beside, "--reference", "17", "--priority", "3")
    shown = beside.json("item", "show", item)["item"]
    assert (shown["payload"], shown["reference"], shown["priority"]) == ({"invoice": 17}, "17", 3)
    assert 'payload: {"invoice": 17}' in beside.run("item", "show", item).out.splitlines()
    assert [each["id"] for each in beside.json("item", "--queue", QUEUE, "--reference", "17")["items"]] == [item]
    duplicate = beside.run("item", "add", QUEUE, "--reference", "17")
    assert (duplicate.code, "has the reference '17' already" in duplicate.err) == (5, True)
    put_off = beside.json("item", "postpone", item, "--for", "12h")["item"]
    assert put_off["status"] == "POSTPONED"
    assert put_off["available_at"] > put_off["updated_at"]
    assert beside.run("item", "retry", item).out == f"{item} NEW\n"
    assert beside.run("item", "delete", item).out == f"{item} DELETED\n"
    assert beside.run("item", "retry", item).code == 5
    listed = beside.run("item", "--queue", QUEUE, "--status", "deleted")
    assert item in listed.out.replace("\n", "")
    assert beside.run("item", "--queue", QUEUE, "--status", "failed").out == "there are none\n"


@pytest.mark.parametrize(
    ("code", "words", "why"),
    [
        (2, ("queue", "create", "two words"), "'two words' is no name of a queue"),
        (2, ("queue", "create", "x", "--max-retries", "1001"), "invalid value for '--max-retries'"),
        (2, ("queue", "change", QUEUE, "--lease", "0"), "invalid value for '--lease'"),
        (3, ("queue", "change", "nowhere", "--active"), "there is no queue 'nowhere'"),
        (3, ("queue", "delete", "nowhere"), "there is no queue 'nowhere'"),
        (3, ("queue", "stats", "nowhere"), "there is no queue 'nowhere'"),
        (2, ("item", "add", QUEUE, "{"), "the payload is no JSON"),
        (3, ("item", "add", "nowhere"), "there is no queue 'nowhere'"),
        (2, ("item", "--status", "LOST"), "'LOST' is no status"),
        (3, ("item", "show", NOBODY), f"there is no item '{NOBODY}'"),
        (3, ("item", "retry", NOBODY), f"there is no item '{NOBODY}'"),
        (3, ("item", "postpone", NOBODY, "--for", "1h"), f"there is no item '{NOBODY}'"),
        (2, ("item", "postpone", NOBODY, "--for", "soon"), "soon"),
        (3, ("item", "delete", NOBODY), f"there is no item '{NOBODY}'"),
    ],
)
def test_what_is_wrong_is_told_and_leaves_nothing(beside: Driver, code: int, words: tuple[str, ...], why: str) -> None:
    before = beside.json("queue")["queues"], beside.json("item", "--limit", "1000")["items"]
    answer = beside.run(*words, "--json")
    assert (answer.code, answer.out) == (code, ""), answer
    assert why in answer.err
    assert (beside.json("queue")["queues"], beside.json("item", "--limit", "1000")["items"]) == before
