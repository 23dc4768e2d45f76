"""Schedules that actors declare: checked when they are declared, in force when a worker starts, and run by it."""

from typing import Any

import dramatiq
import pytest
import redis
from middleware.working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService, InvalidRequest, Schedule, Unique
from bandmaster.middleware.intake import declaration
from bandmaster.scheduler.events.schedule import Schedule as Checked
from bandmaster.scheduler.planning import run_now
from waiting import wait_until

YEARLY = "0 0 1 1 *"


def names(queue: ExecutionQueueService) -> list[str]:
    return queue.schedules.names()


def test_a_worker_declares_and_runs_them_and_a_retry_is_one(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[tuple[str, int]] = []

    @dramatiq.actor(
        band="LOW",
        gates=["tenant:{tenant}"],
        min_backoff=10,
        schedule=Schedule(cron="30 6 * * 1-5", tz="Europe/Berlin", args=["acme"], kwargs={"size": 3}, overlap="skip"),
    )
    def report(tenant: str, size: int) -> None:
        ran.append((tenant, size))
        if len(ran) == 1:
            raise RuntimeError("the first time")

    with running(broker, threads=2):
        wait_until(lambda: names(queue) == ["report"], what="its schedule")
        held = queue.schedules.get("report")
        assert (held.is_declared, held.schedule.gates, held.schedule.priority.name) == (True, ("tenant:acme",), "LOW")
        wait_until(lambda: list(queue.ids.scheduled()), what="its next occurrence")
        execution_id = run_now(queue.schedules, "report").execution_id
        wait_until(lambda: len(ran) == 2, what="its run, and its retry")
        wait_until(lambda: execution_id not in queue.ids.active(), what="its end")
    assert ran == [("acme", 3)] * 2
    assert [each.verb for each in queue.journal.of(execution_id)].count("park") == 1


def test_a_changed_declaration_takes_effect_and_an_operator_s_choice_stays(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    queue.schedules.put(Checked.of({"name": "mine", "cron": YEARLY, "command": ["true"]}))
    queue.schedules.declare(Checked.of({"name": "changes", "cron": YEARLY, "actor": "changes"}))
    queue.schedules.pause("changes")

    @dramatiq.actor(schedule="*/5 * * * *")
    def changes() -> None: ...

    @dramatiq.actor(schedule="*/5 * * * *")
    def mine() -> None: ...

    with running(broker, threads=1):
        wait_until(lambda: queue.schedules.get("changes").schedule.cron == "*/5 * * * *", what="the change")
        assert queue.schedules.get("changes").is_paused
        wait_until(lambda: queue.controls.last_declaration() > 0, what="the declaration")
    assert queue.schedules.get("mine").schedule.command == ("true",)
    assert queue.schedules.remove("changes").is_declared


def test_those_that_the_server_lost_come_back(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(declaration, "LOOK_SECONDS", 0.2)

    @dramatiq.actor(schedule=YEARLY)
    def tidy() -> None: ...

    with running(broker, threads=1):
        wait_until(lambda: list(queue.ids.scheduled()), what="its occurrence")
        redis_client.flushall()
        wait_until(lambda: list(queue.ids.scheduled()), what="its occurrence, again")


def test_a_worker_plans_while_nobody_leads(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(band="LOW")
    def tidy() -> None: ...

    queue.schedules.put(Checked.of({"name": "tidy", "cron": YEARLY, "actor": "tidy"}))
    assert list(queue.ids.scheduled()) == []
    broker.process._planning.round()  # pyright: ignore[reportPrivateUsage]  # else a heartbeat would be waited for
    assert len(list(queue.ids.scheduled())) == 1


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"schedule": "61 * * * *"}, "schedule, cron: '61' is no minute"),
    ({"schedule": 5}, "schedule: 5 is none; allowed: a line of cron like"),
    ({"schedule": {"cron": YEARLY, "args": ["a", "b"]}}, "too many positional arguments; allowed: args and kwargs"),
    ({"schedule": {"cron": YEARLY, "args": 3}}, "its args or kwargs are of another type"),
    ({"schedule": {"cron": YEARLY, "zone": "UTC"}}, "'zone' is no part of it; allowed: cron, tz"),
    ({"schedule": {"cron": YEARLY, "tz": "Berlin"}}, "did you mean Europe/Berlin"),
    ({"schedule": {"tz": "UTC"}}, "schedule, cron: is missing"),
    ({"schedule": YEARLY, "unique": Unique(key="x")}, "has a unique key; allowed: overlap="),
)


def test_a_wrong_one_stops_the_declaration(broker: BandedRedisBroker, subtests: pytest.Subtests) -> None:
    def work(tenant: str = "") -> None: ...

    for options, why in WRONG:
        with subtests.test(why):
            with pytest.raises(InvalidRequest) as error:
                dramatiq.actor(broker=broker, **options)(work)
            assert why in str(error.value)


def test_two_actors_cannot_declare_one_name(broker: BandedRedisBroker) -> None:
    def work() -> None: ...

    dramatiq.actor(broker=broker, actor_name="a", schedule={"cron": YEARLY, "name": "same"})(work)
    with pytest.raises(InvalidRequest, match="b and a both declare same"):
        dramatiq.actor(broker=broker, actor_name="b", schedule={"cron": YEARLY, "name": "same"})(work)
