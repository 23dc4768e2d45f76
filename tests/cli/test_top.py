"""``bandmaster top``: what the queue does, look by look, in a terminal and as JSON lines."""

import itertools
import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.driving import COMMAND, Driver
from cli.terminal import hear_signals, terminal
from faults_server.own_server import OwnServer
from proxy import Proxy

from bandmaster.cli.exits import Exit
from bandmaster.cli.top import SHOWN
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def blocked(driver: Driver) -> Iterator[None]:
    """One waits behind a gate that nobody may pass."""
    driver.json("limit", "tenant:top", "0")
    execution_id = driver.submit("--gate", "tenant:top", "--", "true")
    wait_until(lambda: driver.json("gates")["gates"][0]["waiting"] == 1, what="it finds its gate closed")
    yield
    driver.run("cancel", execution_id)
    driver.json("limit", "tenant:top", "none")


def test_each_look_is_a_line_with_what_status_tells_and_how_much_ended(driver: Driver, blocked: None) -> None:
    answer = driver.run("top", "--json", "--count", "2", "--every", "0.2")
    assert (answer.code, answer.err) == (0, "")
    first, second = map(json.loads, answer.out.splitlines())
    assert first["ended_a_second"] is None
    assert second["ended_a_second"] == 0
    assert (second["queue_depth"], second["gates"][0]["gate"], second["gates"][0]["waiting"]) == (1, "tenant:top", 1)
    assert second["threads"] == sum(each["threads"] for each in second["workers"]) > 0


def test_it_goes_on_in_a_terminal_until_ctrl_c(driver: Driver, blocked: None) -> None:
    command = [*COMMAND, "top", "--every", "0.2"]
    with terminal(command, columns=80, cwd=driver.folder, environment=driver.environment) as one:
        wait_until(lambda: "a second" in one.shown, what="two looks")
        assert "tenant:top" in one.shown
        one.process.send_signal(signal.SIGINT)
        assert one.wait() == 130, one.shown
    assert "Traceback" not in one.shown
    assert one.shown.endswith("\x1b[?25h\x1b[?1049l"), "the cursor and the former screen are there again"


@pytest.fixture
def full(driver: Driver) -> Iterator[int]:
    """Lanes of which each is full: how many."""
    lanes = [f"full-{number}" for number in range(SHOWN + 3)]
    with driver.connect() as client:
        queue = ExecutionQueueService(client)
        for lane in lanes:
            queue.controls.change_setting("max_queue_size", 1, lane=lane)
            queue.transitions.park(Candidate(lane, lane, 2, "full", message=b"x"))
        yield len(lanes)
        for lane in lanes:
            queue.cancel(lane)
            queue.controls.change_setting("max_queue_size", None, lane=lane)


def test_verdicts_that_are_not_shown_are_counted(driver: Driver, full: int) -> None:
    more = len(driver.json("status")["verdicts"]) - SHOWN
    assert more >= full - SHOWN
    with terminal([*COMMAND, "top"], columns=120, cwd=driver.folder, environment=driver.environment) as one:
        one.wait_for(f"and {more} more: `bandmaster status --json`")
        one.process.send_signal(signal.SIGINT)
        assert one.wait() == 130, one.shown


def test_without_a_terminal_it_says_what_to_do(driver: Driver) -> None:
    answer = driver.run("top")
    assert (answer.code, answer.out) == (2, "")
    assert "`bandmaster top --json`" in answer.err


def test_a_look_in_vain_is_told_beside_the_lines(driver: Driver) -> None:
    """And if the last is in vain, so is the command."""
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder))
        own.start()
        proxy, looks = Proxy(own.url), itertools.count()
        # Each look asks for the actions once, so all but the first are in vain.
        proxy.lose_command(lambda command: command[-1].endswith(b":actions") and next(looks) > 0)
        with subprocess.Popen(
            [*COMMAND, "top", "--json", "--every", "0.2", "--count", "3"],
            cwd=driver.folder,
            env=driver.environment | {"BANDMASTER_REDIS__URL": proxy.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=hear_signals,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                assert json.loads(process.stdout.readline())["queue_depth"] == 0
                assert process.stdout.read() == ""
                problem, error = process.stderr.read().splitlines()
                assert "nothing was seen: " in problem
                assert "nothing was seen: " not in error
                assert process.wait(60) == Exit.UNAVAILABLE
            finally:
                process.kill()
                proxy.close()
                own.end()
