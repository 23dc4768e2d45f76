"""`bandmaster limit` with the real command: of a gate, of a kind, from a file, and one that adjusts itself."""

import pytest
from cli.driving import Driver

from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow


def test_a_limited_gate_holds_back_until_the_limit_is_lifted(driver: Driver) -> None:
    own = {"gate": "tenant:42", "limit": 0, "held": 0, "limited_by": "tenant:42", "declared": False, "auto": None}
    assert driver.json("limit", "tenant:42", "0") == {"limits": [own]}
    execution_id = driver.submit("--gate", "tenant:42", "--", "true")
    shown = driver.json("show", execution_id)
    assert (shown["state"], shown["gates"]) == ("PENDING", ["tenant:42"])
    assert shown["explanation"]["reasons"][0] == "gate tenant:42 is full: 0 of 0 held"
    assert own in driver.json("status")["limits"]
    assert driver.run("limit").out.splitlines()[1].split() == ["tenant:42", "0", "0"]
    assert driver.json("limit", "tenant:42", "none") == {
        "limits": [own | {"limit": None, "held": None, "limited_by": None}]
    }
    driver.wait_for(execution_id, "COMPLETED")


def test_a_limit_that_adjusts_itself_is_shown_with_its_number_and_ended_by_a_number(driver: Driver) -> None:
    own = {"gate": "crm", "limit": 2, "held": 0, "limited_by": "crm", "declared": False, "auto": "auto(2,50)"}
    assert driver.json("limit", "crm", "auto(2, 50)") == {"limits": [own]}
    assert driver.run("limit").out.splitlines()[1].split() == ["crm", "auto(2,50),", "now", "2", "0"]
    assert "crm  0 of 2 held, 0 waiting, auto(2,50)" in driver.run("status").out
    assert driver.json("limit", "crm", "7") == {"limits": [own | {"limit": 7, "auto": None}]}
    assert [(each["before"], each["after"]) for each in driver.json("changes")["changes"] if each["name"] == "crm"] == [
        ("auto(2,50), now 2", "7"),
        (None, "auto(2,50), now 2"),
    ]
    refused = driver.run("limit", "tenant:*", "auto(2,50)")
    assert (refused.code, "which is a kind" in refused.err) == (2, True)
    driver.json("limit", "crm", "none")


def test_a_kind_is_limited_with_all_its_gates(driver: Driver) -> None:
    assert driver.json("limit", "firm:*", "0")["limits"][0]["limit"] == 0
    ids = [driver.submit("--gate", gate, "--", "true") for gate in ("firm:a", "firm:b", "firm:b")]
    wait_until(lambda: len(driver.json("gates")["gates"]) == 3, what="all looked")
    rows = [line.split() for line in driver.run("gates").out.splitlines()[1:]]
    assert rows == [
        ["firm:*", "3", "0"],
        ["firm:b", "2", "0", "0", "by", "firm:*"],
        ["firm:a", "1", "0", "0", "by", "firm:*"],
    ]
    assert driver.run("limit", "firm:a").out.splitlines()[1].split() == ["firm:a", "0", "0", "by", "firm:*"]
    assert "firm:*  0 of each, 3 waiting" in driver.run("status").out
    assert driver.run("limit", "firm:b", "1").err == ""
    for execution_id in ids[1:]:
        driver.wait_for(execution_id, "COMPLETED")
    assert driver.state(ids[0]) == "PENDING"
    for name in ("firm:*", "firm:b"):
        driver.json("limit", name, "none")
    driver.wait_for(ids[0], "COMPLETED")
    assert driver.json("limit") == {"limits": []}


def test_limits_are_set_from_a_file_all_or_none(driver: Driver) -> None:
    driver.json("limit", "firm:c", "7")
    path = driver.script("limits.toml", '"firm:*" = 2\n"firm:a" = 10\n"firm:c" = "none"\n"user:ann" = 0\n')
    answer = driver.run("limit", "--file", path)
    rows = [line.split()[:2] for line in answer.out.splitlines()[1:]]
    assert rows == [["firm:*", "2"], ["firm:a", "10"], ["firm:c", "2"], ["user:ann", "0"]]
    assert answer.err == ""
    listed = {each["gate"]: each["limit"] for each in driver.json("limit")["limits"]}
    assert listed == {"firm:*": 2, "firm:a": 10, "user:ann": 0}
    bad = {
        '"firm:a" = 3\n"firm:b*" = 1\n': "'firm:b*' is not a gate's key",
        '"firm:a" = 3\n"firm:b" = -1\n': "'firm:b': -1 is not a limit",
        '"firm:a" = 3\n"firm:b" = true\n': "'firm:b': True is not a limit",
        '"firm:a" = 3\n[firm]\nb = 1\n': "'firm': a value of type dict is not a limit",
        "firm:a = 3\n": "is no TOML: ",
        '"firm:a" = 3\n"firm:a" = 4\n': "is no TOML: ",
    }
    for text, problem in bad.items():
        answer = driver.run("limit", "-f", driver.script("bad.toml", text))
        assert (answer.code, answer.out) == (2, "")
        assert problem in answer.err, answer.err
    assert driver.run("limit", "-f", "no-such-file").code == 2
    assert driver.run("limit", "firm:a", "3", "-f", path).code == 2
    assert {each["gate"]: each["limit"] for each in driver.json("limit")["limits"]} == listed
    driver.json("limit", "-f", driver.script("lift.toml", "".join(f'"{gate}" = "none"\n' for gate in listed)))
    assert driver.run("limit").out.startswith("no gate is limited")


@pytest.mark.nightly
def test_thousands_of_limits_are_shown_in_part(driver: Driver) -> None:
    names = [f"customer:{number}" for number in range(5_000)]
    with driver.connect() as client:
        controls = ExecutionQueueService(client).controls
        for name in names:
            controls.set_limit(name, 1)
        assert len(driver.run("status").out.splitlines()) < 50
        assert "and 4990 more" in driver.run("status").out
        assert len(driver.json("status")["limits"]) == 5_000
        assert len(driver.run("limit").out.splitlines()) == 51
        assert len(driver.run("limit", "-n", "9999").out.splitlines()) == 5_001
        for name in names:
            controls.set_limit(name, None)
