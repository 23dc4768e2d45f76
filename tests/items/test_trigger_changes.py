"""Triggers as they are made, changed, disabled and deleted."""

import pytest
from trigger_work import Work, instant
from work_items import make

from bandmaster.items.errors import QueueHasTriggers, QueueUnknown, TriggerNameTaken
from bandmaster.items.trigger import TriggerType
from bandmaster.scheduler.model.errors import InvalidRequest


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


def test_a_disabled_trigger_starts_nothing_until_it_is_enabled(work: Work) -> None:
    made = work.trigger(enabled=False)
    work.add()
    assert work.rounds.round() == 0
    after = work.items.triggers.change("book", {"enabled": True}, by="a test", revision=made.revision)
    assert (after.enabled, after.revision) == (True, made.revision + 1)
    assert work.rounds.round() == 1


@pytest.mark.parametrize("changed", [{"tz": "Europe/Berlin"}, {"cron": "0 0 2 1 *"}, {"max_jobs": 2}])
def test_a_time_that_has_come_is_started_whatever_is_changed_before(work: Work, changed: dict[str, object]) -> None:
    work.trigger(cron="0 0 1 1 *")
    due_ms = work.now_ms() - 500
    work.set_trigger(next_fire_ms=due_ms)
    work.items.triggers.change("book", changed, by="a test", revision=None)
    assert work.rounds.round() == 1
    assert [each.key for each in work.firings()] == [instant(due_ms)]
    assert (work.found().next_fire_ms or 0) > work.now_ms()
    assert work.rounds.round() == 0


def test_times_that_come_while_it_is_disabled_are_left_out(work: Work) -> None:
    work.trigger(cron="0 0 1 1 *", enabled=False)
    work.set_trigger(next_fire_ms=work.now_ms() - 500)
    work.items.triggers.change("book", {"enabled": True}, by="a test", revision=None)
    assert work.rounds.round() == 0
    assert (work.found().next_fire_ms or 0) > work.now_ms()


def test_a_time_that_comes_again_is_no_failure_and_starts_nothing(work: Work) -> None:
    """The database's clock was set back, and the trigger was disabled for a moment."""
    made = work.trigger(cron="0 0 1 1 *")
    assert made.next_fire_ms is not None
    until_then_ms = made.next_fire_ms - work.now_ms() + 1_000
    work.later_ms = until_then_ms
    assert work.rounds.round() == 1
    work.run_all()
    work.catch_up()
    work.later_ms = 0
    for enabled in (False, True):
        again = work.items.triggers.change("book", {"enabled": enabled}, by="a test", revision=None)
    assert again.next_fire_ms == made.next_fire_ms
    work.later_ms = until_then_ms
    assert work.rounds.round() == 0
    found = work.found()
    assert (found.failures, found.last_error, len(work.firings())) == (0, None, 1)
    assert (found.next_fire_ms or 0) > work.now_ms()
