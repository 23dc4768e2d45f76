"""What triggers claim and start, when, and what is left when somebody dies in between."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from trigger_work import Work, instant
from work_items import take

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State


def test_an_item_becomes_an_execution_and_is_done_with_it(work: Work) -> None:
    made = work.trigger(user_id="desk", action="book")
    (item_id,) = work.add()
    assert work.rounds.round() == 1
    (row,) = work.item_rows()
    (firing,) = work.firings()
    assert (row.status, row.job_id, row.locked_until_ms, row.fence) == ("IN_PROGRESS", firing.execution_id, None, 1)
    granted = work.queue.try_schedule()
    assert granted is not None
    execution_id, event = granted
    assert execution_id == firing.execution_id
    assert (event.metadata.source, event.metadata.queue_item_ids) == ("TRIGGER", (item_id,))
    assert (event.action, event.metadata.user_id, event.metadata.labels) == ("book", "desk", {"trigger": "book"})
    assert [each["payload"] for each in json.loads(event.items or "")] == [0]
    found = work.found()
    assert (found.last_processed_item_id, found.live_jobs, found.sequence) == (item_id, 1, made.sequence + 1)
    assert found.last_fired_ms == firing.created_ms
    work.queue.transitions.release(execution_id, 1, State.COMPLETED)
    work.catch_up()
    assert work.statuses() == ["DONE"]
    (firing,) = work.firings()
    assert (firing.state, firing.event) == ("COMPLETED", None)
    assert work.found().live_jobs == 0


def test_no_more_executions_live_than_its_bound(work: Work) -> None:
    work.trigger(max_jobs=2)
    work.add(5)
    work.rounds.round()
    assert work.statuses().count("IN_PROGRESS") == 2
    done = 0
    for _ in range(3):
        done += len(work.run_all())
        work.catch_up()
        work.rounds.round()
    assert done == 5
    assert work.statuses() == ["DONE"] * 5


def test_items_are_claimed_in_the_order_of_robots_and_in_batches(work: Work) -> None:
    work.trigger(batch_size=2)
    (low,) = work.add(priority=1)
    (high,) = work.add(priority=9)
    (least,) = work.add(priority=0)
    work.rounds.round()
    (one,) = work.firings()
    event = ExecutionRequestedEvent.from_any(work.queue.try_schedule()[1])  # type: ignore[index]
    assert event.metadata.queue_item_ids == (high, low)
    assert take(work.items) != []
    assert {row.item_id: row.job_id for row in work.item_rows()} == {
        high: one.execution_id,
        low: one.execution_id,
        least: None,
    }


def test_it_looks_again_after_its_interval_or_when_an_item_comes(work: Work) -> None:
    work.trigger(polling_interval=30)
    work.rounds.round()
    work.add()
    assert work.rounds.round() == 0
    work.later_ms = 29_000
    assert work.rounds.round() == 0
    work.later_ms = 31_000
    assert work.rounds.round() == 1
    work.run_all()
    work.catch_up()
    work.rounds.round()
    work.add()
    assert work.rounds.round() == 0
    work.rounds.come(work.items.queues.find("invoices").queue_id)
    assert work.rounds.round() == 1


def test_who_does_not_lead_fires_nothing(work: Work) -> None:
    work.trigger()
    work.add()
    work.leads = False
    assert work.rounds.round() == 0
    assert work.firings() == []


def test_a_line_of_cron_fires_once_at_each_time(work: Work) -> None:
    made = work.trigger("tick", cron="*/5 * * * *", tz="Europe/Berlin")
    due_ms = made.next_fire_ms
    assert due_ms is not None
    assert work.rounds.round() == 0
    work.later_ms = due_ms - work.now_ms() + 1_000
    assert work.rounds.round() == 1
    assert work.rounds.round() == 0
    (firing,) = work.firings()
    assert firing.key == instant(due_ms)
    found = work.found("tick")
    assert found.next_fire_ms == due_ms + 300_000
    granted = work.queue.try_schedule()
    assert granted is not None
    assert granted[1].items is None
    work.queue.transitions.release(granted[0], 1, State.COMPLETED)
    work.catch_up()
    assert [each.state for each in work.firings()] == ["COMPLETED"]


def test_times_that_nobody_could_start_are_left_out(work: Work) -> None:
    made = work.trigger("tick", cron="0 * * * *")
    due_ms = made.next_fire_ms
    assert due_ms is not None
    work.later_ms = due_ms - work.now_ms() + 7 * 3_600_000 + 120_000
    assert work.rounds.round() == 0
    assert work.found("tick").next_fire_ms == due_ms + 8 * 3_600_000


STEPS = ("before the claim is kept", "before it is sent", "before Redis is asked", "when Redis has accepted it")


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_a_firing_is_one_execution(work: Work, database_url: str, redis_url: str, step: str) -> None:
    work.trigger()
    work.add(1)
    program = Path(__file__).with_name("firing_process.py")
    killed = subprocess.run([sys.executable, program, database_url, redis_url, step], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    work.rounds.round()
    work.rounds.round()
    assert len(work.firings()) == 1
    assert work.run_all() == [work.firings()[0].execution_id]
    work.catch_up()
    assert work.statuses() == ["DONE"]
    assert work.rounds.round() == 0


def test_two_leaders_at_once_fire_once(work: Work) -> None:
    work.trigger(max_jobs=50)
    work.add(20)
    barrier = threading.Barrier(2)
    both = [work.another_round(work.items.store) for _ in range(2)]

    def go(number: int) -> None:
        barrier.wait(30)
        both[number].round()

    threads = [threading.Thread(target=go, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    work.rounds.round()
    assert len(work.firings()) == 20
    assert len(set(work.run_all())) == 20
    work.catch_up()
    assert work.statuses() == ["DONE"] * 20
