"""What a process notes of its slots, at moments that threads come to by chance."""

from bandmaster.scheduler.slots.desk import CLOSED, Desk
from bandmaster.scheduler.slots.entry import Entry
from bandmaster.scheduler.slots.errors import SlotCancelled


def test_a_wait_of_which_redis_is_being_told_is_ended_by_closing_too() -> None:
    desk, entry = Desk(), Entry("core.http.get", 1, 60.0)
    desk.enter(entry)
    desk.take_arriving()
    desk.end_waits()
    error = entry.future.exception(0)
    assert isinstance(error, SlotCancelled)
    assert error.reason == CLOSED
    desk.note_sent(entry)
    assert desk.waiting() == []
    assert desk.leaving() == [(entry.execution_id, entry)], "Redis may have it, and is told that it is over"
    desk.note_withdrawn(entry.execution_id)
    assert desk.is_idle
