"""`watch_completions` as an actor: single, going on whatever happens, revived; and the rounds that revive it."""

import threading
from pathlib import Path

import pytest
import redis
from lifecycle import Lifecycle, requested

from bandmaster.actors import runtime, try_schedule, watch, watch_completions
from bandmaster.actors.maintenance_rounds import Rounds
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.process.leadership import Leadership
from waiting import wait_until


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short windows."""
    monkeypatch.setattr(watch, "WINDOW_SECONDS", 0.05)
    monkeypatch.setattr(watch, "FAILURE_PAUSE_SECONDS", 0.0)


def lock_of(lifecycle: Lifecycle) -> str:
    return lifecycle.queue.scripts.keys.lock("watch_completions")


def sent(lifecycle: Lifecycle) -> list[str]:
    return [actor for actor, _ in lifecycle.sent()]


def test_a_window_reports_gives_its_lock_back_and_sends_itself_again(lifecycle: Lifecycle) -> None:
    lifecycle.ended(lifecycle.in_pod(requested("true")))
    watch_completions()
    assert sorted(sent(lifecycle)) == ["execution_completed", "watch_completions"]
    assert lifecycle.client.get(lock_of(lifecycle)) is None


def test_a_window_is_longer_where_a_look_at_all_pods_takes_longer(
    lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SECONDS_A_POD", 0.2)
    assert watch.window_seconds() == watch.WINDOW_SECONDS
    for number in range(3):
        lifecycle.ended(lifecycle.in_pod(requested("true", f"x{number}")))
    watch_completions()
    assert watch.window_seconds() == pytest.approx(watch.WINDOW_SECONDS + 3 * 0.2)
    monkeypatch.setattr(watch, "SECONDS_A_POD", 1_000)
    assert watch.window_seconds() == watch.LONGEST_WINDOW_SECONDS


def test_a_second_watch_ends_its_chain(lifecycle: Lifecycle) -> None:
    lifecycle.client.set(lock_of(lifecycle), "another's")
    watch_completions()
    assert sent(lifecycle) == []
    assert lifecycle.client.get(lock_of(lifecycle)) == b"another's"


def test_a_watch_that_lost_its_lock_leaves_the_others_alone(
    lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "WINDOW_SECONDS", 0.5)
    lifecycle.create(lifecycle.granted(), 1)
    body = threading.Thread(target=watch_completions)
    body.start()
    wait_until(lambda: lifecycle.client.get(lock_of(lifecycle)), what="its lock")
    lifecycle.client.set(lock_of(lifecycle), "another's")
    body.join()
    assert lifecycle.client.get(lock_of(lifecycle)) == b"another's"
    assert lifecycle.state() is State.RUNNING, "it compares nothing any more"
    assert sent(lifecycle) == ["watch_completions"], "which finds the lock, and ends there"


def test_a_window_that_fails_does_not_end_the_chain(lifecycle: Lifecycle, folder: Path) -> None:
    folder.write_text("no folder")
    try:
        watch_completions()
    finally:
        folder.unlink()
    assert sent(lifecycle) == ["watch_completions"]
    assert lifecycle.client.get(lock_of(lifecycle)) is None


def test_a_watch_without_a_server_ends_quietly(lifecycle: Lifecycle, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = redis.ConnectionPool.from_url("redis://127.0.0.1:1/0", protocol=2)
    with monkeypatch.context() as away:
        away.setattr(runtime.broker.client, "connection_pool", nowhere)
        watch_completions()
        try_schedule()
    assert sent(lifecycle) == []


def test_the_periodic_job_revives_a_watch_that_is_not_there(lifecycle: Lifecycle) -> None:
    try_schedule()
    assert sent(lifecycle) == ["watch_completions"]
    lifecycle.client.set(lock_of(lifecycle), "somebody's")
    try_schedule()
    assert sent(lifecycle) == ["watch_completions"]


def test_the_periodic_job_repairs_what_was_left(lifecycle: Lifecycle) -> None:
    queue = lifecycle.queue
    queue.enqueue(requested(execution_id="stale"))
    wait_until(lambda: waits_ms(lifecycle, "stale") > 1_000, what="its staleness")
    queue.controls.change_setting("stale_timeout_seconds", 1)
    queue.enqueue(requested(execution_id="fresh"))
    try_schedule()
    assert lifecycle.state("stale") is State.EXPIRED
    assert lifecycle.state("fresh") is State.PENDING


def waits_ms(lifecycle: Lifecycle, execution_id: str) -> int:
    return lifecycle.queue.views.server_time_ms() - int(lifecycle.queue.views.meta(execution_id)["accepted_at"])


def test_f5_a_tick_of_an_earlier_leader_does_nothing(lifecycle: Lifecycle) -> None:
    earlier = Leadership(lifecycle.queue.scripts, leader_id="earlier")
    earlier.elect()
    epoch = earlier.epoch
    earlier.resign()
    Leadership(lifecycle.queue.scripts, leader_id="later").elect()
    try_schedule("earlier", epoch)
    assert sent(lifecycle) == []


def test_f18_a_tick_is_too_old_by_the_servers_clock_alone(lifecycle: Lifecycle) -> None:
    now_ms = lifecycle.queue.views.server_time_ms()
    try_schedule(not_after_ms=now_ms - 1)
    assert sent(lifecycle) == []
    try_schedule(not_after_ms=now_ms + 60_000)
    assert sent(lifecycle) == ["watch_completions"]
    for actor in (try_schedule, watch_completions):
        assert "max_age" not in actor.options, "it would compare the clocks of two hosts"


def test_workers_tick_while_nobody_leads_one_of_them_an_interval(lifecycle: Lifecycle) -> None:
    rounds = [Rounds(lifecycle.queue, interval_seconds=60) for _ in range(2)]
    leadership = Leadership(lifecycle.queue.scripts)
    leadership.elect()
    assert [each.round(runtime.broker) for each in rounds] == [False, False]
    leadership.resign()
    assert [each.round(runtime.broker) for each in rounds] == [True, False]
    assert sent(lifecycle) == ["try_schedule"]
