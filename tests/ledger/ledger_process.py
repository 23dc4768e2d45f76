"""The ledger's process, how its commands are run, and what is in its tables meanwhile."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.driving import Answer, driving

from bandmaster.ledger.database import Database
from bandmaster.ledger.standing import Standing, standing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

Start = Callable[[], "subprocess.Popen[str]"]
Attempt = Callable[..., Answer]
RunCommand = Callable[..., Answer]
"""Takes the environment of a command, and its arguments."""


@pytest.fixture
def environment(redis_url: str, ledger_url: str) -> dict[str, str]:
    return os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_LEDGER__URL": ledger_url,
        "BANDMASTER_LEDGER__LEASE_MS": "1000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }


@pytest.fixture
def empty_ledger_url(environment: dict[str, str], database_url: str) -> str:
    """The URL of a database without tables, which is the ledger of the processes and commands of this test."""
    environment["BANDMASTER_LEDGER__URL"] = database_url
    return database_url


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start() -> "subprocess.Popen[str]":
        with (tmp_path / "log").open("a") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bandmaster.ledger"], env=environment, stdout=log, stderr=log, text=True
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def run_command() -> Iterator[RunCommand]:
    """Runs commands, each in a process forked from one that has imported what all of them need."""
    with driving() as driver:

        def run(environment: Mapping[str, Any], *arguments: str) -> Answer:
            return driver.run(*arguments, **environment)

        yield run


@pytest.fixture
def attempt(environment: dict[str, str], run_command: RunCommand) -> Attempt:
    """``bandmaster ledger … --json``, which may fail."""

    def attempt(*arguments: str) -> Answer:
        return run_command(environment, "ledger", *arguments, "--json")

    return attempt


@pytest.fixture
def command(attempt: Attempt) -> Callable[..., Any]:
    """The same, which has to do what it is asked; the document that it printed."""

    def command(*arguments: str) -> Any:
        done = attempt(*arguments)
        assert done.out, done.err
        (document,) = done.json.values()
        assert done.code == (0 if document.get("written", True) else 1), done
        return document

    return command


def send(queue: ExecutionQueueService, first: int, count: int) -> None:
    for number in range(first, first + count):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"exec-{number}", action="resize", command=("true",)))


def stands(database: Database) -> Standing:
    """What `bandmaster ledger` shows, asked again and again without a process each time."""
    return standing(database, "exec_queue")


def caught_up(queue: ExecutionQueueService, database: Database) -> bool:
    position, end = stands(database).position, Follower(queue.scripts).end()
    return position is not None and 0 < end.count == position.count
