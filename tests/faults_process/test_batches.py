"""A worker that is killed, or sleeps past its lease, with a batch under way or while it waits to be woken.

What the lost call had settled is settled, what it had granted is taken over by another worker, and a sleeper that wakes
up begins nothing of what it was granted.
"""

import sys
from dataclasses import dataclass

import pytest
from dramatiq import Message
from ended_leases import LONG_LEASE_MS, end_leases
from history import History
from model.dump import read_dump
from model.invariants import Invariants
from proxy import Command, Proxy

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.states import TERMINAL, State
from faults_process.installation import Installation
from faults_process.members import SHORT_LEASE_MS, Member
from faults_process.moments import Moment, script
from waiting import wait_until

pytestmark = pytest.mark.slow

APP = "faults_process.batched_app"
THREADS = 8
JOBS = 120
LIMIT = 3
LANES = {"limited": "first", "free": "second"}


@dataclass(frozen=True, slots=True)
class Run:
    """A body that began."""

    execution_id: str
    attempt: int


def runs(installation: Installation) -> list[Run]:
    lines: list[bytes] = installation.client.lrange("runs", 0, -1)  # type: ignore[assignment]
    return [Run(name, int(attempt)) for name, attempt in (line.decode().split() for line in lines)]


def park(installation: Installation, count: int) -> list[str]:
    """Send so many, in turn to one lane and the other; their ids."""
    messages: list[Message[object]] = [
        Message(queue_name=LANES[actor], actor_name=actor, args=(), kwargs={}, options={})
        for actor in list(LANES) * (count // 2)
    ]
    installation.queue.controls.set_limit("disk", LIMIT)
    installation.queue.transitions.park_many(
        [
            Candidate(
                each.message_id,
                each.queue_name,
                1 if each.actor_name == "limited" else 3,
                each.actor_name,
                gates=("disk",) if each.actor_name == "limited" else (),
                message=each.encode(),
            )
            for each in messages
        ]
    )
    return [message.message_id for message in messages]


def worker(installation: Installation, url: str, straight_url: str, lease_ms: int = LONG_LEASE_MS) -> Member:
    environment = {
        "BATCHED_REDIS_URL": url,
        "BATCHED_STRAIGHT_URL": straight_url,
        "BATCHED_LEASE_MS": str(lease_ms),
        "PYTHONPATH": ":".join(sys.path),
    }
    return installation.members.worker(module=APP, threads=THREADS, environment=environment, lane="second")


def a_batch(command: Command) -> bool:
    """A call that gives several slots back, and takes others."""
    return exchange(command) and command.count(b"release") > 1


exchange = script("exchange")


def settled_in(commands: list[Command], ids: list[str]) -> set[str]:
    return {execution_id for execution_id in ids if execution_id.encode() in commands[-1]}


def check_all_ended(installation: Installation, ids: list[str]) -> None:
    """Each ended as it should, no attempt ran twice, and what must hold holds."""
    queue = installation.queue

    def ended() -> bool:
        return all(meta["state"] in TERMINAL for meta in queue.views.metas(ids))

    wait_until(ended, what="the end of all")
    metas = queue.views.metas(ids)
    assert {meta["state"] for meta in metas} == {State.COMPLETED}
    ran = [(run.execution_id, run.attempt) for run in runs(installation)]
    assert len(ran) == len(set(ran)), "an attempt ran twice"
    assert {name for name, _ in ran} == set(ids)
    assert {(name, int(meta["attempt"])) for name, meta in zip(ids, metas, strict=True)} <= set(ran)
    Invariants().check(read_dump(installation.client, queue.scripts.keys), one_step=False)
    history = History(JOBS * 10, queue.controls.limits()).read(queue.journal.entries())
    assert set(ids) <= history.executions.keys()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_worker_killed_with_a_batch_under_way_loses_nothing(
    after: bool, installation: Installation, proxy: Proxy, redis_url: str
) -> None:
    killed = worker(installation, installation.through(proxy), redis_url)
    commands: list[Command] = []

    def is_here(command: Command) -> bool:
        if not a_batch(command):
            return False
        commands.append(command)
        return True

    moment = Moment(proxy, is_here, after)
    moment.arm()
    ids = park(installation, JOBS)
    moment.kill(killed)
    end_leases(installation.queue)
    in_the_batch = settled_in(commands, ids)
    assert len(in_the_batch) > 1
    done = {name for name in in_the_batch if installation.state(name) is State.COMPLETED}
    assert done == (in_the_batch if after else set())
    worker(installation, redis_url, redis_url)
    check_all_ended(installation, ids)
    ran = [run.execution_id for run in runs(installation)]
    for name in in_the_batch:
        assert ran.count(name) == (1 if after else 2)
    assert len(ran) - len(ids) <= THREADS, "no more ran again than had a thread"
    installation.probe("second")


def test_a_worker_that_slept_past_its_lease_with_a_batch_under_way_begins_nothing_of_it(
    installation: Installation, proxy: Proxy, redis_url: str
) -> None:
    sleeper = worker(installation, installation.through(proxy), redis_url, SHORT_LEASE_MS)
    moment = Moment(proxy, a_batch, after=False)
    moment.arm()
    ids = park(installation, JOBS)
    queue = installation.queue

    def granted() -> list[str]:
        metas = zip(ids, queue.views.metas(ids), strict=True)
        return [name for name, meta in metas if meta["state"] == State.RUNNING]

    moment.reached()
    before = granted()  # only one call is under way, so nothing else is granted meanwhile
    moment.stop(sleeper)
    late = wait_until(lambda: set(granted()) - set(before), what="the grants of the call, whose answer it has not read")
    # The sleeper is the only worker, so no grant changes hands. On a busy machine one may be a second attempt already.
    attempts = {name: int(queue.views.meta(name)["attempt"]) for name in late}
    worker(installation, redis_url, redis_url)
    check_all_ended(installation, ids)
    assert {name: int(queue.views.meta(name)["attempt"]) - 1 for name in late} == attempts
    count = len(runs(installation))
    sleeper.go_on()
    installation.probe("second")
    assert not {run.execution_id for run in runs(installation)[count:]} & late
    check_all_ended(installation, ids)


@pytest.mark.parametrize("signal", ["kill", "stop"])
def test_a_worker_lost_while_it_waits_to_be_woken_delays_by_a_round(
    signal: str, installation: Installation, redis_url: str
) -> None:
    lost = worker(installation, redis_url, redis_url)

    def waits() -> bool:
        clients: list[dict[str, str]] = installation.client.client_list()  # type: ignore[assignment]
        return any(client["cmd"] == "blpop" for client in clients)

    wait_until(waits, what="it waits")
    getattr(lost, signal)()
    end_leases(installation.queue)
    worker(installation, redis_url, redis_url)
    ids = park(installation, JOBS)
    check_all_ended(installation, ids)
    assert len(runs(installation)) == JOBS, "each ran once"
    if signal == "stop":
        lost.go_on()
        installation.probe("second")
        assert len({run.execution_id for run in runs(installation)} & set(ids)) == JOBS
        assert sum(run.execution_id in ids for run in runs(installation)) == JOBS, "who woke up ran nothing again"
