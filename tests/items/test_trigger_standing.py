"""How triggers stand: their state, when they fire next, and the executions that they started last."""

from trigger_work import Work

from bandmaster.items.started import Started
from bandmaster.items.trigger import TriggerState
from bandmaster.items.triggers import LATEST_SHOWN
from bandmaster.scheduler.model.states import State


def latest(work: Work, name: str = "book") -> tuple[Started, ...]:
    return work.found(name).latest


def test_an_execution_is_told_from_its_firing_to_its_end(work: Work) -> None:
    work.trigger()
    assert latest(work) == ()
    work.add()
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.rounds.round()
    (one,) = latest(work)
    assert (one.sent_ms, one.ended_ms, one.state) == (None, None, None)
    work.run_all()
    work.set_firings(again_ms=1)
    work.rounds.round()
    work.catch_up()
    (sent,) = latest(work)
    assert (sent.execution_id, sent.sent_ms is None, sent.state) == (one.execution_id, False, State.PENDING)
    work.run_all(State.FAILED)
    work.catch_up()
    (ended,) = latest(work)
    assert (ended.state, ended.ended_ms is None) == (State.FAILED, False)


def test_the_latest_are_told_of_each_trigger_and_the_latest_first(work: Work) -> None:
    work.trigger(max_jobs=20)
    work.trigger("tick", cron="*/5 * * * *")
    work.add(LATEST_SHOWN + 2)
    for _ in range(LATEST_SHOWN + 2):
        work.rounds.round()
    fired = [each.execution_id for each in reversed(work.firings())]
    assert [each.execution_id for each in latest(work)] == fired[:LATEST_SHOWN]
    assert latest(work, "tick") == ()
    tick, book = sorted(work.items.triggers.all(), key=lambda each: each.type, reverse=True)
    assert (tick.latest, [each.execution_id for each in book.latest]) == ((), fired[:1])
    work.set_firings(created_ms=7)
    assert [each.execution_id for each in latest(work)] == sorted(fired, reverse=True)[:LATEST_SHOWN]


def test_one_that_backs_off_fires_no_sooner_and_a_disabled_one_never(work: Work) -> None:
    found = work.trigger()
    assert (found.state, found.fires_next_ms) == (TriggerState.ACTIVE, found.next_fire_ms)
    work.add()
    work.set_trigger(timeout_seconds=-1)
    work.rounds.round()
    found = work.found()
    assert (found.state, found.fires_next_ms) == (TriggerState.BACKING_OFF, found.backoff_ms)
    changed = work.items.triggers.change("book", {"timeout_seconds": 5, "enabled": False}, by="a test", revision=None)
    assert (changed.state, changed.fires_next_ms) == (TriggerState.DISABLED, None)


def test_a_change_answers_with_what_the_trigger_has_started(work: Work) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    changed = work.items.triggers.change("book", {"max_jobs": 2}, by="a test", revision=None)
    assert (changed.live_jobs, changed.latest) == (1, latest(work))
