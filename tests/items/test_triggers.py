"""Triggers: what they claim and start, how items are settled, and what is left when somebody dies in between."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from trigger_work import Work, instant
from work_items import end_postponing, make, take

from bandmaster.items.errors import QueueHasTriggers, QueueUnknown, TriggerNameTaken
from bandmaster.items.outcome import Said
from bandmaster.items.settling import LOST, LOST_AFTER_MS
from bandmaster.items.states import Status
from bandmaster.items.trigger import TriggerType
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import InvalidRequest
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


def test_failed_executions_use_up_the_retries_of_items(work: Work) -> None:
    make(work.items, max_retries=1)
    work.trigger()
    work.add()
    for expected in ("NEW", "FAILED"):
        work.set_trigger(next_fire_ms=1)
        work.rounds.round()
        assert len(work.run_all(State.FAILED)) == 1
        work.catch_up()
        assert work.statuses() == [expected]
    (row,) = work.item_rows()
    assert (row.retries, row.failure) == (1, "application")
    assert row.error_message.startswith("its execution ended as FAILED")


def test_a_failed_item_is_put_off_as_its_queue_says(work: Work) -> None:
    make(work.items, retry_seconds=60)
    work.trigger()
    work.add()
    work.rounds.round()
    work.run_all(State.FAILED)
    work.catch_up()
    (row,) = work.item_rows()
    assert (row.status, row.job_id) == ("POSTPONED", None)
    end_postponing(work.database, row.item_id)
    work.set_trigger(next_fire_ms=1)
    assert work.rounds.round() == 1


def test_a_cancelled_execution_gives_its_items_back(work: Work) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    (firing,) = work.firings()
    work.queue.transitions.cancel(firing.execution_id)
    work.catch_up()
    (row,) = work.item_rows()
    assert (row.status, row.job_id, row.retries, row.abandoned) == ("NEW", None, 0, 0)
    (held,) = take(work.items)
    assert held.locked_until_ms is not None


def test_what_a_program_said_of_an_item_stays(work: Work) -> None:
    work.trigger(batch_size=2)
    first, _ = work.add(2)
    work.rounds.round()
    (firing,) = work.firings()
    said = Said(Status.FAILED, error_message="a business matter")
    work.items.outcome.say(first, said, robot_id=firing.execution_id, fence=1)
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["FAILED", "DONE"]


def test_an_item_that_an_operator_took_away_is_not_settled(work: Work) -> None:
    work.trigger(enabled=True)
    (item_id,) = work.add()
    work.rounds.round()
    work.items.editing.edit(item_id, {"status": Status.NEW}, by="a test", revision=None)
    (held,) = take(work.items)
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["IN_PROGRESS"]
    assert work.items.outcome.say(item_id, Said(Status.DONE), robot_id="robot", fence=held.fence).status == "DONE"


def test_a_page_that_is_read_again_settles_nothing_twice(work: Work) -> None:
    make(work.items, max_retries=5)
    work.trigger()
    work.add()
    work.rounds.round()
    work.run_all(State.FAILED)
    position = work.consumer._position  # type: ignore[reportPrivateUsage]
    work.catch_up()
    work.consumer._position = position  # type: ignore[reportPrivateUsage]
    work.catch_up()
    (row,) = work.item_rows()
    assert row.retries == 1


def test_a_full_queue_puts_the_firing_off_and_the_trigger_says_why(work: Work) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.trigger()
    work.add()
    assert work.rounds.round() == 0
    found = work.found()
    assert (found.failures, found.live_jobs) == (1, 1)
    assert "full" in (found.last_error or "")
    assert (found.backoff_ms or 0) > work.now_ms()
    assert work.rounds.round() == 0
    work.run_all()
    work.set_firings(again_ms=1)
    assert work.rounds.round() == 1
    found = work.found()
    assert (found.failures, found.backoff_ms, found.last_error) == (0, None, None)
    assert len(work.firings()) == 1


def test_a_trigger_that_can_start_nothing_backs_off_and_claims_nothing(work: Work) -> None:
    work.trigger()
    work.add()
    work.set_trigger(timeout_seconds=-1)
    assert work.rounds.round() == 0
    found = work.found()
    assert found.failures == 1
    assert "timeout_seconds" in (found.last_error or "")
    assert work.statuses() == ["NEW"]
    work.set_trigger(timeout_seconds=5)
    assert work.rounds.round() == 0
    work.later_ms = 6_000
    assert work.rounds.round() == 1


def test_who_does_not_lead_fires_nothing(work: Work) -> None:
    work.trigger()
    work.add()
    work.leads = False
    assert work.rounds.round() == 0
    assert work.firings() == []


def test_items_of_an_execution_that_nobody_knows_go_back_after_a_while(work: Work) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    work.queue.scripts.client.flushdb()
    work.catch_up()
    fresh = work.another_round(work.items.store)
    fresh.round()
    assert work.statuses() == ["IN_PROGRESS"]
    work.set_firings(sent_ms=work.now_ms() - LOST_AFTER_MS - 1_000)
    work.catch_up()
    work.another_round(work.items.store).round()
    assert work.statuses() == ["NEW"]
    assert [each.state for each in work.firings()] == [LOST]
    work.set_trigger(next_fire_ms=1)
    assert work.rounds.round() == 1
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["DONE"]


def test_an_end_that_was_written_without_its_items_settles_them_later(work: Work) -> None:
    """As by a process of the release before, which knows no triggers."""
    work.trigger()
    work.add()
    work.rounds.round()
    work.catch_up()
    work.set_executions(state="COMPLETED")
    work.set_firings(sent_ms=1)
    work.another_round(work.items.store).round()
    assert work.statuses() == ["DONE"]


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


def test_what_does_not_fit_the_type_is_refused(work: Work) -> None:
    queue = make(work.items)
    create = work.items.triggers.create
    with pytest.raises(InvalidRequest, match="queue_id"):
        create("a", type=TriggerType.QUEUE, command=("true",), by="a test")
    with pytest.raises(InvalidRequest, match="cron"):
        create("a", type=TriggerType.TIME, command=("true",), by="a test")
    with pytest.raises(InvalidRequest, match="cron"):
        create("a", type=TriggerType.TIME, command=("true",), by="a test", cron="61 * * * *")
    with pytest.raises(QueueUnknown):
        create("a", type=TriggerType.QUEUE, command=("true",), by="a test", queue_id=queue.queue_id + 1)
    with pytest.raises(InvalidRequest, match="command"):
        create("a", type=TriggerType.QUEUE, command=(), by="a test", queue_id=queue.queue_id)
    assert work.items.triggers.all() == []
    create("a", type=TriggerType.QUEUE, command=("true",), by="a test", queue_id=queue.queue_id)
    with pytest.raises(TriggerNameTaken):
        create("a", type=TriggerType.QUEUE, command=("true",), by="a test", queue_id=queue.queue_id)
    with pytest.raises(QueueHasTriggers):
        work.items.queues.delete(queue.queue_id, by="a test", force=True)
    assert work.items.queues.find("invoices").is_active


def test_what_a_deleted_trigger_started_is_settled(work: Work) -> None:
    work.trigger()
    work.add(2)
    work.rounds.round()
    work.items.triggers.delete("book", by="a test")
    work.run_all()
    work.catch_up()
    assert work.rounds.round() == 0
    assert work.statuses() == ["DONE", "NEW"]


def test_a_disabled_trigger_starts_nothing_until_it_is_enabled(work: Work) -> None:
    made = work.trigger(enabled=False)
    work.add()
    assert work.rounds.round() == 0
    after = work.items.triggers.change("book", {"enabled": True}, by="a test", revision=made.revision)
    assert (after.enabled, after.revision) == (True, made.revision + 1)
    assert work.rounds.round() == 1
