"""Triggers whose firings cannot be sent, or that can start nothing: each backs off alone, and says why."""

from typing import Any

from sqlalchemy import insert
from trigger_work import Work, instant
from work_items import make

from bandmaster.items.trigger import event_of
from bandmaster.ledger.schema.tables import firings


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


def test_firings_that_are_refused_together_are_one_failure(work: Work) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.trigger(max_jobs=5)
    work.add(5)
    assert work.rounds.round() == 0
    found = work.found()
    assert (found.failures, found.live_jobs) == (1, 5)
    assert {each.again_ms for each in work.firings()} == {found.backoff_ms}


def test_a_change_lets_what_was_put_off_be_sent_at_once(work: Work) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.trigger(max_jobs=2)
    work.add(2)
    assert work.rounds.round() == 0
    work.queue.controls.change_setting("max_queue_size", 9)
    assert work.rounds.round() == 0
    work.items.triggers.change("book", {"max_jobs": 3}, by="a test", revision=None)
    assert work.rounds.round() == 2


def test_a_trigger_that_is_broken_backs_off_alone(work: Work) -> None:
    """Whatever its row has, which a later release of the time zones may not know any more."""
    work.trigger("a-broken", cron="*/5 * * * *")
    work.trigger("b-broken", cron="*/5 * * * *")
    work.trigger()
    work.add()
    work.set_trigger("a-broken", tz="Europe/Nowhere", next_fire_ms=work.now_ms() - 1_000)
    work.set_trigger("b-broken", tz="Europe/Nowhere")
    assert work.rounds.round() == 1
    broken = work.found("a-broken")
    assert (broken.failures, work.found().failures) == (1, 0)
    assert broken.last_error == "ZoneInfoNotFoundError: the ledger's log says more"
    assert (broken.backoff_ms or 0) > work.now_ms()
    work.set_trigger("a-broken", tz="UTC", priority="NONE", backoff_ms=None)
    work.run_all()
    work.catch_up()
    work.add()
    assert work.rounds.round() == 1


def test_a_firing_that_is_broken_is_put_off_alone(work: Work) -> None:
    make(work.items, "other")
    work.trigger()
    work.trigger("other", queue_id=work.items.queues.find("other").queue_id)
    work.add()
    work.items.adding.add(work.items.queues.find("other"), by="a test")
    park = work.queue.transitions.park

    def breaks(candidate: Any, **given: Any) -> object:
        if candidate.execution_id.startswith("trigger:1-"):
            raise LookupError("a secret")
        return park(candidate, **given)

    work.queue.transitions.park = breaks  # type: ignore[method-assign]
    assert work.rounds.round() == 1
    assert (work.found().failures, work.found("other").failures) == (1, 0)
    assert work.found().last_error == "LookupError: the ledger's log says more"
    work.queue.transitions.park = park  # type: ignore[method-assign]
    work.set_firings(again_ms=1)
    assert work.rounds.round() == 1


def test_what_the_database_says_is_for_the_log(work: Work) -> None:
    made = work.trigger(cron="0 0 1 1 *")
    due_ms = work.now_ms() - 500
    work.set_trigger(next_fire_ms=due_ms)
    taken = event_of(made, instant(due_ms), []).execution_id
    with work.database.writing() as connection:
        of_another = {"trigger_id": 99, "key": "1", "created_ms": 1, "again_ms": 0, "ended_ms": 1}
        connection.execute(insert(firings).values(execution_id=taken, **of_another))
    assert work.rounds.round() == 0
    found = work.found()
    assert (found.failures, found.last_error) == (1, "RowsTaken: the ledger's log says more")
