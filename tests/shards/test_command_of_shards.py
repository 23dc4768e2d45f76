"""The command line beside two servers, with real processes: worker, scheduler, and one server that is away."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults_server.own_server import OwnServer
from two_servers import queue_of

from waiting import wait_until

pytestmark = pytest.mark.slow


class Installation:
    """Its processes and commands, on two servers: band LOW is on the second."""

    def __init__(self, servers: dict[str, OwnServer], folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("BANDMASTER_")},
            "BANDMASTER_REDIS__URL": servers["default"].url,
            "BANDMASTER_SHARDS__LOW": servers["low"].url,
            "BANDMASTER_REDIS__DEADLINE_SECONDS": "2",
            "BANDMASTER_SCHEDULER__INTERVAL_SECONDS": "1",
        }
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str) -> None:
        """Start one of Bandmaster's programs."""
        with (self._folder / f"{len(self._processes)}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", *arguments], cwd=self._folder, env=self._environment, stdout=log, stderr=log
                )
            )

    def set(self, name: str, value: str) -> None:
        """Set a variable of what is started from now on."""
        self._environment[name] = value

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command until its end."""
        return subprocess.run(
            [sys.executable, "-m", "bandmaster", *arguments],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def told(self, *arguments: str) -> Any:
        """The JSON document of a command that has to work."""
        before, _, command = " ".join(arguments).partition(" -- ")
        answer = self.run(*before.split(), "--json", *(["--", *command.split()] if command else []))
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    def end(self) -> None:
        """All processes."""
        for each in self._processes:
            each.send_signal(signal.SIGTERM)
        for each in self._processes:
            try:
                each.wait(timeout=60)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


@pytest.fixture
def installation(servers: dict[str, OwnServer], tmp_path: Path) -> Iterator[Installation]:
    """Nothing runs yet."""
    made = Installation(servers, tmp_path)
    yield made
    made.end()


def submitted(installation: Installation, priority: str) -> str:
    told = installation.told("submit", "--priority", priority, "--", "echo", priority)
    return told["executions"][0]["execution_id"] if "executions" in told else told["execution_id"]


def test_executions_of_both_run_and_are_found_by_their_ids(
    servers: dict[str, OwnServer], installation: Installation
) -> None:
    high, low = submitted(installation, "high"), submitted(installation, "low")
    listed = {each["execution_id"]: each["shard"] for each in installation.told("list")["executions"]}
    assert listed == {high: "default", low: "low"}
    refused = installation.run("priority", low, "high")
    assert refused.returncode != 0
    assert "is on shard low" in refused.stderr
    assert installation.run("priority", high, "critical").returncode == 0
    installation.start("bandmaster.scheduler")
    installation.start("dramatiq", "bandmaster.actors", "--processes", "1", "--threads", "2")

    with queue_of(servers["default"].url) as first, queue_of(servers["low"].url) as second:

        def have_run() -> bool:
            states = [first.views.meta(high)["state"], second.views.meta(low)["state"]]
            return states == ["COMPLETED"] * 2

        wait_until(have_run, what="both run as pods of their own shard")
        wait_until(lambda: first.views.leader() and second.views.leader(), what="both are led")
    assert installation.told("show", low)["state"] == "COMPLETED"
    assert installation.run("logs", low).stdout.strip() == "low"
    shards = installation.told("status")["shards"]
    assert shards.keys() == {"default", "low"}
    assert all(each["leader"] for each in shards.values())


@pytest.mark.nightly
def test_one_that_is_away_is_told_and_the_rest_is_shown(
    servers: dict[str, OwnServer], installation: Installation
) -> None:
    high, low = submitted(installation, "high"), submitted(installation, "low")
    servers["low"].kill()
    told = installation.told("status")
    assert told["queue_depth"] == 1
    assert told["shards"]["low"]["away"]
    assert "away" in installation.run("status").stdout
    assert [
        json.loads(line)["queue_depth"]
        for line in installation.run("top", "--json", "--count", "1").stdout.split("\n")
        if line
    ] == [1]
    listing = installation.run("list", "--json")
    assert [each["execution_id"] for each in json.loads(listing.stdout)["executions"]] == [high]
    assert listing.stderr.count("shard low is away") == 1
    assert installation.told("show", high)["state"] == "PENDING"
    lost = installation.run("show", low)
    assert "not found on default" in lost.stderr
    assert "low did not answer" in lost.stderr
    assert installation.told("cancel", high)["executions"][0]["state"] == "CANCELLED"
    servers["low"].start()
    assert installation.told("cancel", low)["executions"][0]["state"] == "CANCELLED"


@pytest.mark.nightly
def test_when_all_are_away_each_is_told_and_the_exit_code_says_so(
    servers: dict[str, OwnServer], installation: Installation
) -> None:
    for server in servers.values():
        server.kill()
    told = installation.run("status")
    assert (told.returncode, told.stdout.count("away")) == (4, 2)
    assert "no shard answered" in told.stderr
    document = installation.run("status", "--json")
    assert document.returncode == 4
    assert all(each["away"] for each in json.loads(document.stdout)["shards"].values())


def test_one_that_hangs_is_told_as_away_long_before_its_calls_give_up(
    servers: dict[str, OwnServer], installation: Installation
) -> None:
    installation.set("BANDMASTER_REDIS__DEADLINE_SECONDS", "20")
    servers["low"].signal(signal.SIGSTOP)
    try:
        shards = installation.told("status")["shards"]
        assert shards["low"]["away"] == "Redis did not answer within 2 s"
        assert shards["default"]["away"] is None
    finally:
        servers["low"].signal(signal.SIGCONT)


@pytest.mark.nightly
def test_what_belongs_to_one_server_is_told_to_name_it(installation: Installation) -> None:
    refused = installation.run("limit", "action:x", "5")
    assert refused.returncode == 2
    assert "--shard default or low" in refused.stderr
    assert installation.run("--shard", "low", "limit", "action:x", "5").returncode == 0
    assert installation.told("--shard", "low", "status")["limits"][0]["limit"] == 5
    assert installation.told("--shard", "default", "status")["limits"] == []
    assert "there is no shard 'lo'" in installation.run("--shard", "lo", "status").stderr
