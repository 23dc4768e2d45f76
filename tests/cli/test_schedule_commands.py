"""Schedules with the real command: added, shown, run at once, paused and removed, beside Redis and through the API."""

import re

import pytest
from cli.driving import Answer, Driver
from cli.through_api import Sides

from waiting import wait_until

pytestmark = pytest.mark.slow


def ended(driver: Driver, execution_id: str) -> bool:
    shown = driver.run("show", execution_id, "--json")
    return shown.code == 0 and shown.json["state"] == "COMPLETED"


@pytest.mark.parametrize("side", ["beside", "through"])
def test_a_command_is_scheduled_run_now_and_removed(sides: Sides, side: str) -> None:
    name = f"backup-{side}"

    def run(*words: str) -> Answer:
        return getattr(sides, side)(*words)

    added = run(
        "schedule", "add", name, "--cron", "30 6 * * 7", "--tz", "Europe/Berlin", "--json", "--", "echo", "-n", "x"
    )
    assert added.code == 0, added.err
    assert (added.json["command"], added.json["tz"], added.json["declared"]) == (
        ["echo", "-n", "x"],
        "Europe/Berlin",
        False,
    )
    times = run("schedule", "next", name, "-n", "3").out.splitlines()
    assert len(times) == 3
    assert all(re.fullmatch(r"Sun \d{4}-\d\d-\d\d 06:30:00 CES?T \(UTC\+0[12]00\)", each) for each in times)
    twice = run("schedule", "add", name, "--cron", "0 0 * * *", "--", "true")
    assert (twice.code, "already" in twice.err) == (5, True)
    assert run("schedule", "add", name, "--cron", "0 0 * * *", "--replace", "--", "echo", "y").code == 0
    runs = [run("schedule", "run-now", name, "--key", "once", "--json").json["execution_id"] for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0].startswith(f"schedule:{name}:run-")
    wait_until(lambda: ended(sides.driver, runs[0]), what=f"{runs[0]} has run")
    assert run("schedule", "show", name, "--json").json["last_run"] == runs[0]
    assert run("schedule", "pause", name, "--json").json == {"schedule": name, "paused": True, "changed": True}
    assert "paused" in run("schedule", "list").out
    assert "is paused" in run("schedule", "next", name).err
    assert run("schedule", "resume", name).out == f"{name} resumed\n"
    assert run("schedule", "remove", name).out == f"{name} removed\n"
    gone = run("schedule", "show", name)
    assert (gone.code, f"there is no schedule '{name}'" in gone.err) == (3, True)


def test_a_start_without_a_zone_is_in_that_of_the_line(driver: Driver) -> None:
    line = (
        "--cron",
        "0 6 1 * *",
        "--tz",
        "America/New_York",
        "--start",
        "2040-01-01T06:00",
        "--end",
        "2040-07-01T06:00Z",
    )
    added = driver.run("schedule", "add", "zoned", *line, "--json", "--", "true").json
    assert (added["start_at"], added["end_at"]) == ("2040-01-01T11:00:00.000Z", "2040-07-01T06:00:00.000Z")
    first = driver.json("schedule", "next", "zoned", "-n", "1")["times"][0]
    assert first["at"] == added["start_at"]
    driver.json("schedule", "remove", "zoned")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--cron", "61 * * * *", "--", "true"), "cron: '61' is no minute; allowed: 0 to 59"),
        (("--cron", "* * * *", "--", "true"), "has 4 fields; allowed: five"),
        (("--cron", "0 0 30 2 *", "--", "true"), "cron: '0 0 30 2 *' never fires"),
        (("--cron", "0 0 * * *", "--tz", "Berlin", "--", "true"), "did you mean Europe/Berlin?"),
        (("--cron", "0 0 * * *", "--actor", "a", "--args", '{"a": 1}'), "args: a value of type dict is no list"),
        (("--cron", "0 0 * * *", "--actor", "a", "--args", "[1"), "--args: '[1' is no JSON"),
        (("--cron", "*/5 * * * *", "--jitter", "5m", "--", "true"), "jitter_ms: 300000 is as long as the interval"),
        (
            ("--cron", "0 0 * * *", "--start", "2030-01-02", "--end", "2030-01-01", "--", "true"),
            "is not after the start",
        ),
        (("--cron", "0 0 * * *"), "neither is given; allowed: exactly one of the two"),
        (("--cron", "0 0 * * *", "--actor", "a", "--image", "x"), "image: is given without command"),
    ],
)
def test_what_is_wrong_is_told_in_words_and_leaves_nothing(sides: Sides, words: tuple[str, ...], why: str) -> None:
    answer = sides.driver.run("schedule", "add", "refused", *words)
    assert (answer.code, answer.out) == (2, ""), answer
    assert why in answer.err
    assert sides.driver.run("schedule", "show", "refused").code == 3
