"""Triggers with the real command, before everything that `bandmaster up` runs: items become executions and are done."""

import sys
from pathlib import Path

import pytest
from cli.driving import Driver

from waiting import wait_until

pytestmark = pytest.mark.slow

QUEUE = "of-triggers"
EXAMPLE = Path(__file__).parents[2] / "examples" / "bookings.py"
LINE = """sh -c 'stat -c %a "$BANDMASTER_ITEMS_FILE"; cat "$BANDMASTER_ITEMS_FILE"'"""


def counts(driver: Driver) -> dict[str, int]:
    return driver.json("queue", "stats", QUEUE)["counts"]


def test_five_items_become_executions_and_are_done(driver: Driver) -> None:
    driver.json("queue", "create", QUEUE)
    try:
        made = driver.json("trigger", "create", "books", "--queue", QUEUE, "--command", LINE, "--max-jobs", "2")
        assert (made["trigger"]["type"], made["trigger"]["batch_size"]) == ("QUEUE", 1)
        for number in range(5):
            driver.json("item", "add", QUEUE, f'{{"number": {number}}}')
        driver.json("trigger", "change", "books", "--every", "1")
        wait_until(lambda: counts(driver)["DONE"] == 5, timeout_seconds=120, what="five items that are done")
        (shown,) = (each for each in driver.json("trigger", "list")["triggers"] if each["name"] == "books")
        assert (shown["fired"], shown["failures"], shown["live_jobs"]) == (5, 0, 0)
        assert (shown["state"], shown["executions"][0]["state"]) == ("active", "COMPLETED")
        items = {each["id"]: each["job_id"] for each in driver.json("item", "--queue", QUEUE)["items"]}
        assert len(set(items.values())) == 5
        one = driver.json("trigger", "show", "books")["trigger"]
        assert {each["execution_id"] for each in one["executions"]} == set(items.values())
        told = driver.run("trigger", "show", "books").out
        assert all(text in told for text in (f"items of {QUEUE}", "0 of 2 executions", *items.values()))
        execution_id = items[shown["last_processed_item_id"]]
        assert shown["last_processed_item_id"] in driver.run("logs", execution_id).out
    finally:
        driver.run("trigger", "delete", "books")
        driver.run("queue", "delete", QUEUE, "--force", "--yes")


def test_the_program_of_the_example_says_what_came_of_its_items(driver: Driver) -> None:
    queue = "of-programs"
    driver.json("queue", "create", queue, "--max-retries", "0")
    try:
        for number in (9, 10):
            driver.json("item", "add", queue, f'{{"number": {number}}}', "--reference", str(number))
        line = f"{sys.executable} {EXAMPLE}"
        driver.json("trigger", "create", "programs", "--queue", queue, "--batch", "2", "--command", line)
        wait_until(
            lambda: {each["status"] for each in driver.json("item", "--queue", queue)["items"]} == {"DONE", "FAILED"},
            timeout_seconds=120,
            what="two items that are settled",
        )
        items = {each["reference"]: each for each in driver.json("item", "--queue", queue)["items"]}
        booked, refused = (driver.json("item", "show", items[each]["id"])["item"] for each in ("9", "10"))
        assert (booked["status"], booked["result"], booked["progress"]) == ("DONE", {"booking": "booked-9"}, "books 9")
        assert (refused["failure"], refused["error_message"]) == ("business", "no such customer")
        shown = driver.run("show", booked["job_id"]).out + driver.run("show", booked["job_id"], "--json").out
        assert booked["job_id"] in shown
        assert "bm_" not in shown
    finally:
        driver.run("trigger", "delete", "programs")
        driver.run("queue", "delete", queue, "--force", "--yes")


def test_what_does_not_fit_is_refused(driver: Driver) -> None:
    at_six = ("--cron", "0 6 * * *")
    for words, why in (
        ((), "--queue and --cron: give one of them"),
        ((*at_six, "--queue", QUEUE), "--queue and --cron: give one of them"),
        ((*at_six, "--batch", "5"), "--batch: it goes with --queue, and not with --cron"),
        ((*at_six, "--every", "5"), "--every: it goes with --queue, and not with --cron"),
        (("--queue", QUEUE, "--tz", "UTC"), "--tz: it goes with --cron, and not with --queue"),
        (("--cron", "61 * * * *"), "--cron: '61' is no minute"),
        ((*at_six, "--tz", "Berlin"), "--tz: "),
        ((*at_six, "--priority", "soon"), "--priority: "),
        ((*at_six, "--user", "\t"), "--user: "),
    ):
        refused = driver.run("trigger", "create", "of-nothing", "--command", "true", *words)
        assert (refused.code, refused.err.startswith(f"bandmaster: {why}")) == (2, True), refused.err
    for command in ("show", "delete"):
        gone = driver.run("trigger", command, "of-nothing")
        assert (gone.code, "there is no trigger" in gone.err) == (3, True)


def test_a_time_is_shown_and_a_disabled_trigger_stands_still(driver: Driver) -> None:
    made = driver.json(
        *("trigger", "create", "of-time", "--cron", "0 6 1 1 *", "--tz", "Europe/Berlin"),
        *("--command", "true", "--disabled"),
    )
    try:
        assert (made["trigger"]["state"], made["trigger"]["next_fire_at"]) == ("disabled", None)
        assert "of-time" in driver.run("trigger").out
        assert "disabled" in driver.run("trigger", "list").out
        shown = driver.run("trigger", "show", "of-time").out
        assert all(text in shown for text in ("disabled", "never", "0 of 1 executions", "Europe/Berlin"))
        refused = driver.run("trigger", "change", "of-time", "--batch", "5")
        assert (refused.code, "--batch: the type is TIME" in refused.err) == (2, True)
        goes = driver.json("trigger", "change", "of-time", "--enabled")
        assert goes["trigger"]["next_fire_at"].endswith("-01-01T05:00:00.000Z")
    finally:
        assert driver.json("trigger", "delete", "of-time") == {"name": "of-time", "live_jobs": 0}


def test_a_trigger_with_as_many_executions_as_may_live_says_what_it_waits_for(driver: Driver) -> None:
    name = "full-of-commands"
    driver.json("queue", "create", name)
    try:
        driver.json("trigger", "create", name, "--queue", name, "--command", "sleep 600", "--every", "1")
        said = "active, but waits until one of its executions ends"
        assert said not in driver.run("trigger", "show", name).out
        driver.json("item", "add", name)
        wait_until(lambda: said in driver.run("trigger", "show", name).out, what="it says so")
    finally:
        (started,) = driver.json("trigger", "show", name)["trigger"]["executions"]
        driver.run("trigger", "delete", name)
        driver.run("cancel", started["execution_id"])
        driver.run("queue", "delete", name, "--force", "--yes")
