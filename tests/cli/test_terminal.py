"""The command in a real terminal, narrow and wide: no line is broken, no id is cut, and what is typed is completed."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.driving import Driver
from cli.terminal import shown_to, terminal
from rich.cells import cell_len

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.identifiers import new_execution_id
from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def busy(driver: Driver, paused: None) -> Iterator[list[str]]:
    """Something of everything: what waits, is scheduled, has ended, is dead, is limited."""
    named = ("--user", "somebody-with-a-long-name", "--action", "nightly-report")
    ids = [
        driver.submit(*named, "-p", "background", "--", "true"),
        driver.submit("--at", "+3d", "--gate", "tenant:a-customer-with-a-long-name", "--", "true"),
    ]
    driver.json("limit", "tenant:a-customer-with-a-long-name", "3")
    with driver.connect() as client:
        queue = ExecutionQueueService(client, lane="spare")
        letter = Candidate(new_execution_id(), "spare", 2, "nightly-report", event=b"{}")
        queue.transitions.bury(letter, "lease_lost")
        yield [*ids, letter.execution_id]
        driver.json("limit", "tenant:a-customer-with-a-long-name", "none")
        driver.run("cancel", *ids)
        driver.run("dead", "drop", "--all", "--yes")


def lines(driver: Driver, columns: int, *arguments: str) -> list[str]:
    """What a command shows in a terminal."""
    code, shown = shown_to(driver, columns, *arguments)
    assert code == 0, shown
    return ANSI.sub("", shown).splitlines()


@pytest.mark.parametrize("columns", [60, 200])
def test_nothing_is_broken_in_a_terminal(driver: Driver, busy: list[str], columns: int) -> None:
    commands = [["status"], ["list"], ["list", "-s", "dead"], ["gates"], ["workers"], ["limit"], ["setting"], ["dead"]]
    for command in [*commands, *(["show", one] for one in busy)]:
        shown = lines(driver, columns, *command)
        assert [line for line in shown if cell_len(line.rstrip()) > columns] == [], command
        assert not any("…" in line and line.startswith("0") and "…" in line[:36] for line in shown)
    listed = "\n".join(lines(driver, columns, "list"))
    assert all(one in listed for one in busy[:2])
    assert "in 2d 23h" in listed or "in 3d 00h" in listed
    assert ("background" in listed) is (columns == 200)
    assert ("somebody-with-a-long-name" in listed) is (columns == 200)


@pytest.mark.parametrize("columns", [60, 200])
def test_every_pause_is_seen_in_gates(driver: Driver, busy: list[str], columns: int) -> None:
    tenant = "tenant:a-customer-with-a-long-name"
    for name in (tenant, "lane:executions"):
        driver.json("pause", name)
    shown = lines(driver, columns, "gates")
    loads = {each["gate"]: each for each in driver.json("gates")["gates"]}
    for name in (tenant, "lane:executions"):
        driver.json("resume", name)
    for name in ("everything", "lane:executions", tenant):
        (line,) = [line for line in shown if line.startswith(name)]
        assert re.search(r" paused\b", line), line
    assert all(loads[name]["paused"] for name in ("*", "lane:executions", tenant))
    assert loads["*"]["waiting"] == loads["lane:executions"]["waiting"] == 1
    assert loads[tenant]["limit"] == 3


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("limit tenant:a-cust", "limit tenant:a-customer-with-a-long-name"),
        pytest.param("pause lane:exec", "pause lane:executions", marks=pytest.mark.nightly),
        pytest.param("pause action:nightly", "pause action:nightly-report", marks=pytest.mark.nightly),
        pytest.param("list --user some", "list --user somebody-with-a-long-name", marks=pytest.mark.nightly),
        pytest.param("list --action=night", "list --action=nightly-report", marks=pytest.mark.nightly),
        pytest.param("setting --lane exec", "setting --lane executions", marks=pytest.mark.nightly),
    ],
)
def test_bash_completes_names_with_colons(driver: Driver, busy: list[str], typed: str, completed: str) -> None:
    script = driver.run(_BANDMASTER_COMPLETE="source_bash").out
    (driver.folder / "completion").write_text(script)
    environment = driver.environment | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PS1": "> "}
    bash = ["bash", "--norc", "--noprofile", "-i"]
    with terminal(bash, columns=200, cwd=driver.folder, environment=environment) as one:
        one.type("source completion; bind 'set enable-bracketed-paste off'; echo rea''dy\n")
        one.wait_for("ready")
        one.type(f"bandmaster {typed}\t")
        one.wait_for(f"bandmaster {completed} ")
        one.type("\x15exit\n")
        one.wait()


@pytest.mark.parametrize("columns", [60, 200])
def test_what_is_waited_for_is_shown_whole(driver: Driver, columns: int) -> None:
    shown = lines(driver, columns, "submit", "--wait", "--", "sh", "-c", "exit 0 # a command that is rather long")
    ended = next(line for line in shown if "COMPLETED" in line)
    assert re.match(r"[0-9a-f-]{36}  COMPLETED", ended)
    assert cell_len(ended) <= columns
    assert ("rather long" in ended) is (columns == 200)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("bandmaster ca", {"cancel"}),
        ("bandmaster dead r", {"retry"}),
        ("bandmaster list --state run", {"running"}),
        ("bandmaster submit --priority c", {"critical"}),
        ("bandmaster setting max_q", {"max_queue_size"}),
    ],
)
def test_a_shell_completes_what_is_typed(driver: Driver, typed: str, offered: set[str]) -> None:
    words = typed.split()
    answer = driver.run(_BANDMASTER_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=str(len(words) - 1))
    assert set(answer.out.split()) == offered
    assert answer.err == ""


def test_a_shell_completes_ids_and_says_nothing_without_a_server(driver: Driver, idle: Driver, busy: list[str]) -> None:
    asked: Any = {
        "_BANDMASTER_COMPLETE": "complete_bash",
        "COMP_WORDS": f"bandmaster show {busy[0][:30]}",
        "COMP_CWORD": "2",
    }
    assert driver.run(**asked).out.split() == [busy[0]]
    nothing = idle.run(**asked)
    assert (nothing.out.strip(), nothing.err) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_had_for_every_usual_shell(idle: Driver, shell: str) -> None:
    answer = idle.run(_BANDMASTER_COMPLETE=f"source_{shell}")
    assert "_BANDMASTER_COMPLETE=complete_" in answer.out
