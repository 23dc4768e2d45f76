"""What triggers claim and start, when, and what is left when somebody dies in between."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from databases import POSTGRESQL_IN_CHECK
from sqlalchemy import update
from trigger_work import Work, instant
from work_items import end_lease, end_postponing, take

from bandmaster.items import sending, trigger_rounds
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.schema.tables import queue_items
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS, wait_until


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
    made = work.trigger(polling_interval=30)
    work.rounds.round()
    looks_ms = work.found().next_fire_ms or 0
    assert looks_ms - made.created_ms >= 30_000
    work.later_ms = 31_000
    assert work.rounds.round() == 0
    assert (work.found().next_fire_ms or 0) - looks_ms >= 30_000
    work.add()
    assert work.rounds.round() == 1


def test_whatever_makes_an_item_claimable_wakes_its_triggers(work: Work) -> None:
    """As it does by commands, which tell nobody, or by the clock."""
    work.trigger(polling_interval=86_400)
    work.rounds.round()
    (item_id,) = work.add()
    edit, say = work.items.editing.edit, work.items.outcome.say

    def again() -> None:
        assert work.rounds.round() == 1
        work.run_all()
        work.catch_up()

    def held() -> int:
        work.set_trigger(enabled=False)
        edit(item_id, {"status": Status.NEW}, by="a test", revision=None)
        (item,) = take(work.items)
        work.set_trigger(enabled=True)
        assert work.rounds.round() == 0
        return item.fence

    again()
    with work.database.writing() as connection:
        connection.execute(update(queue_items).values(status="FAILED"))
    edit(item_id, {"status": Status.NEW}, by="a test", revision=None)
    again()
    with work.database.writing() as connection:
        connection.execute(update(queue_items).values(status="POSTPONED", available_ms=work.now_ms() + 60_000))
    assert work.rounds.round() == 0
    end_postponing(work.database, item_id)
    again()
    with work.database.writing() as connection:
        connection.execute(update(queue_items).values(status="FAILED"))
    say(item_id, Said(Status.NEW), robot_id="robot", fence=held())
    again()
    with work.database.writing() as connection:
        connection.execute(update(queue_items).values(status="FAILED"))
    held()
    end_lease(work.database, item_id)
    again()
    work.items.queues.change("invoices", {"is_active": False}, by="a test", revision=None)
    with work.database.writing() as connection:
        connection.execute(update(queue_items).values(status="NEW"))
    assert work.rounds.round() == 0
    work.items.queues.change("invoices", {"is_active": True}, by="a test", revision=None)
    again()


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


@pytest.mark.slow
@pytest.mark.parametrize("database_kind", POSTGRESQL_IN_CHECK, indirect=True)
@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_step_a_firing_is_one_execution(work: Work, ledger_url: str, redis_url: str, step: str) -> None:
    work.trigger()
    work.add(1)
    program = Path(__file__).with_name("firing_process.py")
    killed = subprocess.run([sys.executable, program, ledger_url, redis_url, step], check=False, timeout=60)
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
        barrier.wait(GENEROUS_SECONDS)
        both[number].round()

    threads = [threading.Thread(target=go, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GENEROUS_SECONDS)
    work.rounds.round()
    assert len(work.firings()) == 20
    assert len(set(work.run_all())) == 20
    work.catch_up()
    assert work.statuses() == ["DONE"] * 20


def test_a_batch_that_would_be_too_long_goes_on_at_once_with_the_rest(work: Work) -> None:
    work.trigger(batch_size=10, max_jobs=10)
    queue = work.items.queues.find("invoices")
    # In JSON as its program gets it, each of these characters has six bytes.
    ids = [work.items.adding.add(queue, by="a test", payload="ä" * 4_000).item_id for _ in range(5)]
    assert work.rounds.round() == 3
    told = [json.loads(granted[1].items or "") for granted in iter(work.queue.try_schedule, None)]
    assert [len(each) for each in told] == [2, 2, 1]
    assert [item["id"] for each in told for item in each] == ids
    assert {item["payload"] for each in told for item in each} == {"ä" * 4_000}


def test_a_payload_that_is_too_long_alone_is_left_out_alone(work: Work) -> None:
    work.trigger(batch_size=3)
    queue = work.items.queues.find("invoices")
    for payload in ("a", "ä" * 20_000, "b"):
        work.items.adding.add(queue, by="a test", payload=payload)
    assert work.rounds.round() == 1
    granted = work.queue.try_schedule()
    assert granted is not None
    assert [each.get("payload") for each in json.loads(granted[1].items or "")] == ["a", None, "b"]


def test_as_many_as_were_fired_are_sent_in_the_same_round(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SENT_A_PAGE", 3)
    work.trigger(max_jobs=20)
    work.add(8)
    assert work.rounds.round() == 8


def test_where_a_round_leaves_something_the_next_one_does_not_wait(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_rounds, "MOST_FIRED_A_ROUND", 2)
    monkeypatch.setattr(trigger_rounds, "LOOK_SECONDS", 3_600.0)
    work.trigger(max_jobs=20)
    work.add(9)
    stop = threading.Event()
    thread = threading.Thread(target=work.rounds.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: all(each.sent_ms for each in work.firings()) and len(work.firings()) == 9, what="nine")
    finally:
        stop.set()
        work.rounds.wake()
        thread.join(GENEROUS_SECONDS)
    assert not thread.is_alive()
