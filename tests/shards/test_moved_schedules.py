"""An actor's schedule whose band lives on another server than before: the former one withdraws it.

Each server is told by the workers that take from it, apart from the others: a process may die, or a server be away,
between the two.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import dramatiq
import pytest
from faults_server.own_server import OwnServer
from sharded_application import Application

from bandmaster import Schedule
from bandmaster.scheduler.planning import Planner
from waiting import wait_until

pytestmark = pytest.mark.slow

FAR = Schedule(cron="0 0 1 1 *", start=datetime(2098, 1, 1, tzinfo=UTC))
FIRST = "schedule:moves:20980101T000000Z"


@contextmanager
def application(servers: dict[str, OwnServer], band: str, **arguments: Any) -> Generator[Application]:
    """An application whose scheduled actor has this band, with a worker."""
    made = Application({name: each.url for name, each in servers.items()}, **arguments)

    @dramatiq.actor(broker=made.broker, band=band, schedule=FAR)
    def moves() -> None: ...

    try:
        made.begin()
        yield made
    finally:
        made.end()


def planned(made: Application) -> dict[str, list[str]]:
    """What each server keeps and has planned of it."""
    assert made.broker.shards is not None
    queues = made.broker.shards.queues
    return {name: [*queue.schedules.names(), *queue.ids.scheduled()] for name, queue in queues.items()}


def test_the_former_server_withdraws_it_and_what_it_planned(servers: dict[str, OwnServer]) -> None:
    with application(servers, "LOW") as before:
        wait_until(lambda: planned(before) == {"default": [], "low": ["moves", FIRST]}, what="its first server")
    with application(servers, "HIGH") as after:
        wait_until(lambda: planned(after) == {"default": ["moves", FIRST], "low": []}, what="the move")


@pytest.mark.parametrize("first", ["default", "low"])
def test_a_process_that_ends_between_the_two_steps_leaves_the_other_to_the_next(
    servers: dict[str, OwnServer], first: str
) -> None:
    """Withdrawn, and declared nowhere yet: it is planned nowhere. Declared, and not withdrawn: on both."""
    with application(servers, "LOW") as before:
        wait_until(lambda: planned(before) == {"default": [], "low": ["moves", FIRST]}, what="its first server")
    between: dict[str, dict[str, list[str]]] = {
        "low": {"default": [], "low": []},
        "default": {name: ["moves", FIRST] for name in servers},
    }
    with application(servers, "HIGH", consumed_shards=(first,)) as half:
        wait_until(lambda: planned(half) == between[first], what="the first step")
    with application(servers, "HIGH") as after:
        wait_until(lambda: planned(after) == {"default": ["moves", FIRST], "low": []}, what="both steps")


def test_a_former_server_that_is_away_withdraws_it_when_it_is_back(servers: dict[str, OwnServer]) -> None:
    with application(servers, "LOW") as before:
        wait_until(lambda: planned(before) == {"default": [], "low": ["moves", FIRST]}, what="its first server")
    servers["low"].kill()
    with application(servers, "HIGH") as after:
        assert after.broker.shards is not None
        home = after.broker.queue
        wait_until(lambda: home.schedules.names() == ["moves"], what="the declaration beside a server that is away")
        servers["low"].start()
        wait_until(lambda: planned(after) == {"default": ["moves", FIRST], "low": []}, what="the withdrawal")


def test_an_operator_s_schedule_of_the_name_stays_where_it_is(servers: dict[str, OwnServer]) -> None:
    with application(servers, "HIGH") as made:
        assert made.broker.shards is not None
        low = made.broker.shards.queues["low"]
        wait_until(lambda: planned(made)["default"] == ["moves", FIRST], what="the declaration")
        low.schedules.put(made.broker.queue.schedules.get("moves").schedule)
        Planner(low.schedules).round()
    with application(servers, "HIGH") as again:
        wait_until(lambda: planned(again) == {name: ["moves", FIRST] for name in servers}, what="both")
