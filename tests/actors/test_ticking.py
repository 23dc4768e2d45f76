"""The scheduler process's jobs: the one that ticks and the one that leads."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import redis
from apscheduler.schedulers.background import BackgroundScheduler
from dramatiq.brokers.redis import RedisBroker
from lifecycle import Lifecycle
from proxy import proxy_before

from bandmaster.configs.areas import SchedulerSettings
from bandmaster.scheduler.process.health_file import HealthFile
from bandmaster.scheduler.process.ticking import Ticking
from bandmaster.scheduler.server.connection import client_of
from bandmaster.scheduler.transport.scripts import Scripts
from waiting import wait_until


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    """As the scheduler process has it."""
    with client_of(redis_url) as client:
        yield client


def ticking_on(client: redis.Redis, **settings: Any) -> Ticking:
    return Ticking(Scripts(client), RedisBroker(client=client, middleware=[]), SchedulerSettings(**settings))


def test_the_job_is_the_one_of_the_contract(client: redis.Redis, lifecycle: Lifecycle) -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    ticking_on(client).add_jobs(scheduler)
    scheduler.start(paused=True)
    job = cast(Any, scheduler).get_job("saga_try_schedule")
    assert (job.trigger.interval.total_seconds(), job.max_instances, job.misfire_grace_time) == (10, 1, 30)
    scheduler.shutdown()


def test_who_leads_ticks_and_who_does_not_sends_nothing(client: redis.Redis, lifecycle: Lifecycle) -> None:
    first, second = ticking_on(client), ticking_on(client)
    assert first.tick()
    assert not second.tick()
    assert [actor for actor, _ in lifecycle.sent()] == ["try_schedule"]
    first.resign()
    assert second.tick()
    assert not first.tick(), "who has resigned never leads again"


def test_a_tick_that_no_worker_fetched_is_taken_back(client: redis.Redis, lifecycle: Lifecycle) -> None:
    ticking = ticking_on(client)
    for _ in range(5):
        assert ticking.tick()
    assert [actor for actor, _ in lifecycle.sent()] == ["try_schedule"]
    assert client.llen("dramatiq:lifecycle") == 1


def test_f6_a_leader_whose_tick_hangs_does_not_renew(client: redis.Redis, redis_url: str, lifecycle: Lifecycle) -> None:
    with proxy_before(redis_url) as proxy, client_of(proxy.url, socket_timeout_seconds=1) as hanging:
        # What it renews its leadership with is in order; what it ticks with gets no answer.
        proxy.swallows = True
        broker = RedisBroker(client=hanging, middleware=[])
        ticking = Ticking(Scripts(client), broker, SchedulerSettings(leader_ttl_ms=200))
        assert ticking.lead()
        tick = threading.Thread(target=ticking.tick)
        tick.start()
        wait_until(lambda: not ticking.lead(), what="the end of its leadership")
        assert tick.is_alive()
        wait_until(lambda: client.get("exec_queue:leader") is None, what="the end of its TTL")
        tick.join()
        wait_until(ticking.lead, what="its next election, when it has stood back for the others")


def test_f6_a_leader_whose_ticks_all_fail_lets_another_lead(client: redis.Redis, lifecycle: Lifecycle) -> None:
    settings = SchedulerSettings(leader_ttl_ms=200)
    with client_of("redis://127.0.0.1:1/0") as nowhere:
        failing = Ticking(Scripts(client), RedisBroker(client=nowhere, middleware=[]), settings)
        other = ticking_on(client, leader_ttl_ms=200)
        assert failing.lead()

        def taken_over() -> bool:
            # One after the other, so that the first has every chance to stay.
            failing.lead()
            assert not failing.tick()
            return other.lead()

        wait_until(taken_over, what="the other's election")
        assert other.tick()


def test_a_leader_whose_plans_all_fail_lets_another_lead(client: redis.Redis, lifecycle: Lifecycle) -> None:
    """Its ticks are in order; what its planning reads is damaged."""
    failing, other = ticking_on(client, leader_ttl_ms=1_000), ticking_on(client, leader_ttl_ms=1_000)
    scheduler = BackgroundScheduler(timezone="UTC")
    failing.add_jobs(scheduler)
    assert failing.lead()
    client.set("exec_queue:schedule_times", "damaged")
    scheduler.start()
    try:
        wait_until(other.lead, what="the other's election")
        assert not failing.leads
        assert other.tick()
    finally:
        scheduler.shutdown()


def test_f6_the_pulse_stops_while_a_tick_hangs(
    client: redis.Redis, redis_url: str, lifecycle: Lifecycle, tmp_path: Path
) -> None:
    with proxy_before(redis_url) as proxy, client_of(proxy.url, socket_timeout_seconds=1) as hanging:
        proxy.swallows = True
        broker = RedisBroker(client=hanging, middleware=[])
        ticking = Ticking(Scripts(client), broker, SchedulerSettings(leader_ttl_ms=200), HealthFile(tmp_path))
        assert ticking.lead()
        (path,) = tmp_path.glob("*.pulse")
        tick = threading.Thread(target=ticking.tick)
        tick.start()
        wait_until(lambda: not ticking.lead(), what="the end of its leadership")
        assert tick.is_alive()
        beaten = path.stat().st_mtime_ns
        assert not ticking.lead()
        assert path.stat().st_mtime_ns == beaten, "the loop goes round, but makes no progress"
        tick.join()
        wait_until(ticking.lead, what="its next election")
        assert path.stat().st_mtime_ns > beaten


def test_without_a_server_nothing_is_raised(lifecycle: Lifecycle) -> None:
    with client_of("redis://127.0.0.1:1/0") as nowhere:
        ticking = ticking_on(nowhere)
        assert not ticking.lead()
        assert not ticking.tick()
