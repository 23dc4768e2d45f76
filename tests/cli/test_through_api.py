"""A command through the API says what it says beside Redis in the same state."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
from cli.driving import Answer
from cli.through_api import Sides, constant, constant_json, running_sides, told_of

from bandmaster.ledger.waits.telling import WAITS as MOST_WAITS
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow

READING: Final = {
    "status": ["status"],
    # Without a terminal, it wants to be asked for JSON.
    "top": ["top --count 1"],
    "gates": ["gates", "gates -n 1"],
    "workers": ["workers"],
    "actions": ["actions", "actions -n 1"],
    "waits": ["waits", "waits --by gate -n 1", "waits --by user --since 7d", "waits --since long"],
    "list": [
        *("list", "list --state waiting --state scheduled", "list --user ann", "list --user nobody"),
        *(
            "list --state ended --action report",
            "list --state dead",
            "list --state pending -n 1",
            "list --state asleep",
        ),
    ],
    "show": ["show waits-1", "show wai", "show waits", "show due", "show nobody", "show a/b"],
    "logs": ["logs letter-1 --tail 3", "logs letter-1", "logs waits-1", "logs nobody"],
    "changes": ["changes -n 1"],
    "dead": ["dead"],
    "schedule": ["schedule"],
    "schedule list": ["schedule list", "schedule list -n 1"],
    "schedule show": ["schedule show yearly", "schedule show nobody"],
    "schedule next": ["schedule next yearly -n 2", "schedule next nobody"],
}
"""Command → what is read by it."""

CHANGING: Final = {
    "submit": [
        "submit --user eve -- true",
        "submit --user eve --id twice -p high --gate licence:x --label a=b --timeout 9m --memory 64Mi -- true",
        *("submit --user eve --id twice -- true", "submit --user eve --at +1h -- true"),
        *("submit -p urgent -- true", "cancel --user eve --yes"),
    ],
    "cancel": [
        "submit --user eve --id goes -- true",
        *("cancel goes", "cancel goes", "cancel nobody goes", "cancel --user nobody --yes", "cancel --user eve"),
        *("submit --user eve -- true", "cancel --user eve --yes"),
    ],
    "priority": [
        *("submit --user eve --id moves -- true", "priority moves critical", "priority --user eve --yes low"),
        *("cancel moves", "priority moves high", "priority nobody high", "priority moves 7"),
    ],
    "pause": ["pause action:report", "pause action:report", "pause lane:9", "resume action:report"],
    "resume": ["resume action:report", "pause user:eve", "resume user:eve", "resume user:eve"],
    "limit": [
        *("limit user:eve 3", "limit", "limit user:eve", "limit user:eve none", "limit tenant:* 2"),
        *("limit crm auto(2,9)", "limit crm", "limit crm none", "limit tenant:* auto(2,9)", "limit crm auto(9,2)"),
        *("limit tenant:7", "limit tenant:* none", "limit max_queue_size 3", "limit action:x -- -1"),
    ],
    "rate": [
        *("rate user:eve 3/s", "rate", "rate user:eve", "rate user:eve none", "rate licence:* 100/2m"),
        *("rate licence:7", "rate licence:* none", "rate max_queue_size 3/s", "rate action:x fast"),
    ],
    "share": [
        *("share letters user", "share", "share letters", "share executions tenant", "share", "share executions none"),
        *("share mails user", "share mails none", "share", "share letters a:b", "share lane: user"),
    ],
    "weight": [
        *("weight user:eve 10", "weight", "weight user:eve", "weight user:eve none", "weight user:eve", "weight"),
        *("weight user:eve 0", "weight user:eve 1001", "weight user:eve lots", "weight user:* 2"),
    ],
    "setting": [
        *("setting", "setting max_concurrent 7", "setting max_concurrent", "setting max_concurrent default"),
        *("setting max_queue_size 50 --lane letters", "setting --lane letters"),
        *("setting max_queue_size default --lane letters", "setting speed 9", "setting max_queue_size 99999999999"),
    ],
    "actions": [
        *("submit --user eve --action report -- true", "cancel --user eve --yes"),
        *("actions --drop report", "actions --drop report"),
    ],
    "schedule add": [
        *(
            "schedule add added --cron '0 0 1 1 *' --tz Europe/Berlin -- true",
            "schedule add added --cron '0 0 1 1 *' -- true",
        ),
        *("schedule add added --cron '61 * * * *' -- true", "schedule add added --cron '0 0 1 2 *' --replace -- true"),
        *("schedule remove added", "schedule remove added"),
    ],
    "schedule pause": [
        *("schedule pause yearly", "schedule pause yearly", "schedule resume yearly", "schedule resume yearly"),
        "schedule pause nobody",
    ],
    "schedule resume": ["schedule resume yearly", "schedule resume nobody"],
    "schedule run-now": ["schedule run-now nobody", "schedule run-now a/b"],
    "schedule remove": ["schedule remove nobody"],
    "dead retry": ["dead retry nobody", "dead retry --user nobody --yes"],
    "dead drop": ["dead drop nobody", "dead drop --user nobody --yes", "dead drop --older 3d --yes"],
}
"""Command → a sequence that leaves the state as it was; played beside Redis, then through the API."""

UNTOLD: Final = frozenset(
    # Of status; of show and dead; of a timeline.
    {"server", "backend"} | {"pod_waits_for", "failure"} | {"lane", "band", "action", "user", "accepted_at"}
)
"""What the API does not tell."""

ONLY_TOLD: Final = {"api"}
UNUSED_SO_FAR: Final = ("nothing waits or runs under", "no execution has passed", "no worker has asked for lane:")
"""Notes that need more than the API tells."""


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    """Apart from other tests of commands: what those leave, the ledger may tell otherwise than Redis."""
    with running_sides() as sides:
        yield sides


@pytest.fixture(scope="module")
def filled(sides: Sides) -> Iterator[Sides]:
    """Everything is paused; three executions wait, one has often done so, one is due later, one ended, one is dead.

    A gate has a limit, a kind a rate, a user a weight, and a lane is fair.
    """
    driver = sides.driver
    with driver.connect() as client:
        queue = ExecutionQueueService(client)
        letters = queue.on("letters")
        letters.enqueue({"execution_id": "letter-1", "command": ["true"], "metadata": {"user_id": "bob"}})
        queue.transitions.admit(("letters",), 1)
        result = (
            b'{"exit_code": 3, "reason": "Error", "duration_seconds": 2.5, "output_tail": "caf\\u00e9\\u001b[1m\\n"}'
        )
        queue.transitions.settle(Release("letter-1", 1, State.FAILED, reason="crashed", result=result, dead=True))
        letters.enqueue({"execution_id": "often", "command": ["true"]})
        for attempt in range(1, MOST_WAITS + 2):
            assert [each.attempt for each in queue.transitions.admit(("letters",), 1).grants] == [attempt]
            queue.retry("often", attempt, delay_ms=0)
        driver.json("pause")
        for name, more in (
            ("waits-1", ("-p", "high", "--gate", "tenant:1")),
            ("waits-2", ("--label", "a=b")),
            ("due", ("--at", "2090-01-01")),
            ("ended", ("--action", "report")),
        ):
            driver.submit("--user", "ann", "--id", name, *more, "--", "true")
        driver.json("cancel", "ended")
        driver.json("limit", "user:ann", "1")
        driver.json("limit", "user:ann", "none")
        driver.json("limit", "tenant:1", "4")
        driver.json("rate", "tenant:*", "100/m burst 5")
        driver.json("weight", "user:bob", "10")
        driver.json("share", "letters", "user")
        driver.run("schedule", "add", "yearly", "--cron", "0 0 1 1 *", "--", "true")
        yield sides
        driver.json("limit", "tenant:1", "none")
        driver.json("rate", "tenant:*", "none")
        driver.json("weight", "user:bob", "none")
        driver.json("share", "letters", "none")
        driver.json("schedule", "remove", "yearly")
        driver.run("cancel", "--all", "--yes")
        driver.json("dead", "drop", "letter-1")
        driver.json("resume")
        queue.close()


def said(answer: Answer) -> tuple[int, str, list[str]]:
    notes = [line for line in answer.err.splitlines() if not any(each in line for each in UNUSED_SO_FAR)]
    return answer.code, constant(answer.out), [constant(line) for line in notes]


@pytest.mark.parametrize("line", [line for lines in READING.values() for line in lines])
def test_what_is_read_is_the_same_through_the_api(filled: Sides, line: str) -> None:
    words = shlex.split(line)
    told: list[object] = []

    def is_same() -> bool:
        beside, through = said(filled.beside(*words)), said(filled.through(*words))
        told[:] = [known_lines(beside[1]), known_lines(through[1])] if line == "status" else [beside, through]
        return told[0] == told[1]

    # The ledger follows within a second. What was told last is compared once more: the failure shows where it differs.
    with suppress(AssertionError):
        wait_until(is_same)
    assert told[0] == told[1]


def test_what_it_waited_for_is_said_beside_redis_and_through_the_api(filled: Sides) -> None:
    for run in (filled.beside, filled.through):
        wait_until(
            lambda run=run: re.search(
                r"waited *TOOK: *TOOK while everything was paused\n", constant(run("show", "waits-1").out)
            ),
            what="a sentence",
        )


def test_that_earlier_waits_are_not_told_is_said_beside_redis_and_through_the_api(filled: Sides) -> None:
    for run in (filled.beside, filled.through):
        wait_until(
            lambda run=run: (
                run("show", "often", "--json").json["waits_complete"] is False
                and len(run("show", "often", "--json").json["waits"]) == MOST_WAITS
            ),
            what="the ledger has read of them",
        )
        assert "there were earlier waits" in run("show", "often").out
        assert run("show", "waits-1", "--json").json["waits_complete"] is True
        assert "there were earlier waits" not in run("show", "waits-1").out


def known_lines(status: str) -> list[str]:
    """What is told of the queue, whoever tells it."""
    return [line for line in status.splitlines() if not line.startswith(("runs on", "server", "API"))]


@pytest.mark.parametrize("line", [line for lines in READING.values() for line in lines])
def test_what_is_read_as_json_has_the_same_shape_through_the_api(filled: Sides, line: str) -> None:
    words = [*shlex.split(line), "--json"]
    told: list[object] = []

    def is_same() -> bool:
        beside, through = filled.beside(*words), filled.through(*words)
        if beside.code != 0 or not beside.out:
            told[:] = [said(beside), said(through)]
        else:
            theirs = constant_json({name: value for name, value in through.json.items() if name not in ONLY_TOLD})
            told[:] = [told_of(constant_json(beside.json), theirs, UNTOLD), theirs]
        return told[0] == told[1]

    with suppress(AssertionError):
        wait_until(is_same)
    assert told[0] == told[1]


@pytest.mark.parametrize("is_json", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("command", CHANGING)
def test_what_is_changed_is_the_same_through_the_api(filled: Sides, command: str, is_json: bool) -> None:
    more = ["--json"] if is_json else []
    played: list[list[tuple[int, str, list[str]]]] = []
    for number, run in enumerate((filled.beside, filled.through)):
        # An id is not used twice: what has ended under it is known for a while.
        names = {name: f"{name}-{command.replace(' ', '-')}-{is_json}-{number}" for name in ("twice", "goes", "moves")}
        answers: list[tuple[int, str, list[str]]] = []
        for line in CHANGING[command]:
            words = [names.get(word, word) for word in shlex.split(line)]
            at = words.index("--") if "--" in words else len(words)
            code, out, err = said(run(*words[:at], *more, *words[at:]))
            for name, id_ in names.items():
                out, err = out.replace(id_, name), [each.replace(id_, name) for each in err]
            answers.append((code, out, err))
        played.append(answers)
    assert played[0] == played[1]
