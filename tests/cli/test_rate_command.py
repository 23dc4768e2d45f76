"""Rates with the real command: what is set holds back what waits, in every process, and opens by itself."""

import json
import re
import signal

import pytest
from cli.driving import COMMAND, Driver
from cli.terminal import terminal

from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_rate_lets_one_pass_and_holds_back_the_next_until_it_is_lifted(driver: Driver) -> None:
    own = {"gate": "tenant:r", "rate": "1/h", "rated_by": "tenant:r", "declared": False}
    assert driver.json("rate", "tenant:r", "1/h") == {"rates": [own]}
    first, second = (driver.submit("--gate", "tenant:r", "--", "true") for _ in range(2))
    driver.wait_for(first, "COMPLETED")
    shown = driver.json("show", second)
    assert shown["state"] == "PENDING"
    assert shown["explanation"]["reasons"][0].startswith("gate tenant:r has reached its rate")
    assert driver.json("rate", "tenant:r", "none") == {
        "rates": [{"gate": "tenant:r", "rate": None, "rated_by": None, "declared": False}]
    }
    driver.wait_for(second, "COMPLETED")


def waiting_at(driver: Driver, gate: str) -> int:
    """How many a worker has found waiting behind a gate."""
    return sum(each["waiting"] for each in driver.json("gates")["gates"] if each["gate"] == gate)


def test_what_a_rate_keeps_back_is_seen_at_a_glance_with_when_it_opens(driver: Driver) -> None:
    driver.json("rate", "tenant:*", "1/h")
    ids = [driver.submit("--gate", "tenant:s", "--", "true") for _ in range(2)]
    driver.wait_for(ids[0], "COMPLETED")
    wait_until(lambda: waiting_at(driver, "tenant:s") == 1, what="a worker's look at the second")
    (gate,) = (each for each in driver.json("gates")["gates"] if each["gate"] == "tenant:s")
    assert (gate["rate"], gate["rated_by"], gate["rate_declared"], gate["waiting"]) == ("1/h", "tenant:*", False, 1)
    assert 3_000_000 < gate["opens_in_ms"] <= 3_600_000
    (row,) = (line for line in driver.run("gates").out.splitlines() if line.startswith("tenant:s "))
    assert re.fullmatch(r"tenant:s +1 +0 +none +1/h +opens in (59m \d\ds|1h 00m), rate by tenant:\*", row), row
    (rate,) = (each for each in driver.json("status")["rates"] if each["gate"] == "tenant:s")
    assert (rate["rate"], rate["waiting"]) == ("1/h", 1)
    human = " ".join(driver.run("status").out.split())
    held_back = r"rates tenant:\* 1/h for each, 1 waiting tenant:s 1/h, opens in (59m \d\ds|1h 00m), 1 waiting"
    assert re.search(held_back, human)
    (look,) = map(json.loads, driver.run("top", "--json", "--count", "1").out.splitlines())
    assert {each["gate"]: each["rate"] for each in look["gates"]} == {"tenant:*": "1/h", "tenant:s": "1/h"}
    with terminal([*COMMAND, "top"], columns=120, cwd=driver.folder, environment=driver.environment) as one:
        one.wait_for("1/h, opens in 59m")
        one.process.send_signal(signal.SIGINT)
        assert one.wait() == 130, one.shown
    driver.json("rate", "tenant:*", "none")
    driver.wait_for(ids[1], "COMPLETED")
    assert driver.json("status")["rates"] == []


def test_rates_are_listed_with_whose_they_are(driver: Driver) -> None:
    assert driver.run("rate").out == "no gate has a rate\n"
    with driver.connect() as client:
        rates = ExecutionQueueService(client).controls.rates
        rates.declare({"letters": {"firm:*": Rate.read("100/m"), "firm:a": Rate.read("2/s")}})
    driver.json("rate", "firm:a", "5/s burst 10")
    assert [line.split() for line in driver.run("rate").out.splitlines()[1:]] == [
        ["firm:*", "100/m", "declared"],
        ["firm:a", "5/s", "burst", "10"],
    ]
    assert driver.run("rate", "firm:b").out.splitlines()[1].split() == ["firm:b", "100/m", "by", "firm:*,", "declared"]
    lifted = driver.json("rate", "firm:a", "NONE")["rates"]
    assert lifted == [{"gate": "firm:a", "rate": "2/s", "rated_by": "firm:a", "declared": True}]
    answer = driver.run("rate", "-n", "1")
    assert (len(answer.out.splitlines()), answer.err) == (2, "bandmaster: there are 1 more; see --lines\n")
    with driver.connect() as client:
        ExecutionQueueService(client).controls.rates.declare({"letters": {}})
    assert driver.json("rate") == {"rates": []}


def test_who_changed_a_rate_is_told_as_it_was_typed(driver: Driver) -> None:
    driver.json("rate", "tenant:told", "100/m burst 5")
    driver.json("rate", "tenant:told", "none")
    lifted, limited = driver.json("changes", "-n", "2")["changes"]
    assert (limited["verb"], limited["name"], limited["before"]) == ("rate", "tenant:told", None)
    assert limited["after"] == lifted["before"] == "100/m burst 5"
    assert (lifted["after"], lifted["by"]) == (None, user_at_host())
    assert "100/m burst 5" in driver.run("changes").out


def test_an_unused_name_is_said(driver: Driver) -> None:
    assert "nothing waits or runs under user:typo" in driver.run("rate", "user:typo", "1/s").err
    assert driver.run("rate", "user:typo", "none").err == ""
