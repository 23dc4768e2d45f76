"""Fair lanes and weights with the real command: what is set holds in every process."""

import pytest
from cli.driving import Driver

from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow


def test_a_lane_becomes_fair_and_strict_again(driver: Driver) -> None:
    assert driver.run("share").out == "no lane is fair\n"
    assert driver.json("share", "executions", "user") == {"shares": [{"lane": "executions", "kind": "user"}]}
    assert "no worker has asked for lane:shared-reports so far" in driver.run("share", "shared-reports", "tenant").err
    with driver.connect() as client:
        assert ExecutionQueueService(client).shares.kind_of("shared-reports") == "tenant"
    rows = [line.split() for line in driver.run("share").out.splitlines()[1:]]
    assert rows == [["executions", "user"], ["shared-reports", "tenant"]]
    assert driver.json("share", "shared-reports", "none") == {"shares": [{"lane": "shared-reports", "kind": None}]}
    assert {each["lane"]: each["fair_by"] for each in driver.json("status")["lanes"]}["executions"] == "user"
    assert "0 scheduled, fair by user" in driver.run("status").out
    assert {each["lane"]: each["fair_by"] for each in driver.json("workers")["lanes"]}["executions"] == "user"
    driver.json("share", "executions", "none")
    assert driver.json("share") == {"shares": []}
    refused = driver.run("share", "shared-reports", "a:b")
    assert (refused.code, "'a:b' is no kind of gates; allowed: what precedes" in refused.err) == (2, True)


def test_a_gate_has_a_weight_and_then_one_again(driver: Driver) -> None:
    assert driver.run("weight").out == "every gate has the weight 1\n"
    assert driver.json("weight", "user:ann", "10") == {"weights": [{"gate": "user:ann", "weight": 10}]}
    assert driver.run("weight").out.splitlines()[1].split() == ["user:ann", "10"]
    assert driver.json("status")["weights"] == {"user:ann": 10}
    assert "weights    user:ann  10" in driver.run("status").out
    assert [(each["gate"], each["weight"]) for each in driver.json("gates")["gates"]] == [("user:ann", 10)]
    assert driver.run("gates").out.splitlines()[1].split() == ["user:ann", "0", "0", "none", "weight", "10"]
    assert driver.json("weight", "user:bob") == {"weights": [{"gate": "user:bob", "weight": 1}]}
    changed = driver.json("changes", "-n", "1")["changes"][0]
    assert (changed["name"], changed["before"], changed["after"]) == ("weight:user:ann", "1", "10")
    assert driver.json("weight", "user:ann", "none") == {"weights": [{"gate": "user:ann", "weight": 1}]}
    for wrong in ("0", "1001", "lots"):
        answer = driver.run("weight", "user:ann", wrong)
        assert (answer.code, "1 to 1000" in answer.err) == (2, True), answer
    assert driver.json("weight") == {"weights": []}
