"""`GrantTable`: what a process holds, from admission to settlement, and who may begin, settle or hand back."""

import sys
import threading
import time

from bandmaster.middleware.grants.cancellation import ExecutionCancelled, interrupt
from bandmaster.middleware.grants.context import current_grant, enter, leave
from bandmaster.middleware.grants.table import Entry, GrantTable
from bandmaster.scheduler.engine.grants import Grant
from waiting import GENEROUS_SECONDS, wait_until


def added(
    held: GrantTable, name: str = "x", attempt: int = 1, *, lease_ms: int = 30_000, age_seconds: float = 0.0
) -> Entry:
    return held.add(
        Grant(name, attempt, f"caller:{attempt}", "lane", lease_ms, None, None), time.monotonic() - age_seconds
    )


def test_a_body_begins_once_under_a_grant_that_is_held() -> None:
    held = GrantTable()
    entry = added(held)
    assert held.begin(entry)
    assert (entry.begun, entry.thread_id) == (True, threading.get_ident())


def test_a_body_does_not_begin_after_its_lease_by_this_process_own_clock() -> None:
    held = GrantTable()
    entry = added(held, lease_ms=1000, age_seconds=1.5)
    assert not held.begin(entry)
    assert entry.lost, "so that it is not settled as if it had run"


def test_a_lease_counts_from_before_the_call_that_gave_it() -> None:
    sent = time.monotonic()
    entry = GrantTable().add(Grant("x", 1, "caller:1", "lane", 2000, None, None), sent)
    assert entry.deadline == sent + 2


def test_a_body_does_not_begin_once_it_was_handed_back() -> None:
    held = GrantTable()
    entry = added(held)
    assert held.take_unbegun() == [entry]
    assert not held.begin(entry)


def test_what_has_begun_is_not_handed_back() -> None:
    held = GrantTable()
    begun, unbegun = added(held, "begun"), added(held, "unbegun")
    held.begin(begun)
    assert held.take_unbegun("another lane") == []
    assert held.take_unbegun("lane") == [unbegun]
    assert held.all() == [begun]


def test_only_one_takes_an_entry_out() -> None:
    held = GrantTable()
    entry = added(held)
    assert held.drop(entry)
    assert not held.drop(entry)
    assert not held.has(entry)


def test_an_entry_of_another_attempt_is_another() -> None:
    held = GrantTable()
    first, second = added(held, attempt=1), added(held, attempt=2)
    assert held.drop(first)
    assert held.has(second)


def test_an_attempt_that_was_given_twice_is_held_twice_each_with_its_permit() -> None:
    held = GrantTable()
    grants = [Grant("x", 1, nonce, "lane", 30_000, None, None) for nonce in ("caller:1", "caller:2")]
    first, second = (held.add(grant, time.monotonic(), has_permit=True) for grant in grants)
    assert held.all() == [first, second]
    assert held.drop(first)
    assert not held.drop(first)
    assert held.has(second)


def test_entries_are_found_by_the_thread_that_began_them() -> None:
    held = GrantTable()
    entry, _ = added(held, "mine"), added(held, "not begun")
    held.begin(entry)
    assert held.of_thread(threading.get_ident()) == [entry]
    assert held.of_thread(0) == []


def test_a_cancelled_body_is_interrupted_while_it_runs() -> None:
    held = GrantTable()
    entry = added(held)
    running = threading.Event()
    seen: list[type[BaseException]] = []

    def body() -> None:
        held.begin(entry)
        try:
            running.set()
            deadline = time.monotonic() + GENEROUS_SECONDS
            while time.monotonic() < deadline:
                pass
        except ExecutionCancelled as interrupt:
            seen.append(type(interrupt))

    thread = threading.Thread(target=body)
    thread.start()
    running.wait(GENEROUS_SECONDS)
    held.cancel(entry)
    thread.join(GENEROUS_SECONDS)
    assert seen == [ExecutionCancelled]


def test_a_body_that_is_over_or_has_not_begun_is_not_interrupted() -> None:
    held = GrantTable()
    over, unbegun = added(held, "over"), added(held, "unbegun")
    held.begin(over)
    held.end(over)
    held.cancel(over)
    held.cancel(unbegun)
    assert (over.cancelled, unbegun.cancelled) == (False, False)


def test_an_interrupt_that_comes_with_the_end_reaches_no_hook() -> None:
    held = GrantTable()
    entry = added(held)
    outcome: list[str] = []

    def body() -> None:
        held.begin(entry)
        ready.wait(GENEROUS_SECONDS)
        try:
            held.end(entry)
            for _ in range(1000):
                pass  # the hooks: where the interpreter would raise it
            outcome.append("undisturbed")
        except ExecutionCancelled:
            outcome.append("interrupted")

    ready = threading.Event()
    thread = threading.Thread(target=body)
    thread.start()
    wait_until(lambda: entry.begun, what="the body begins")
    with held._lock:  # pyright: ignore[reportPrivateUsage]  # the heartbeat holds it while it interrupts
        ready.set()
        frames = sys._current_frames  # pyright: ignore[reportPrivateUsage]  # nothing else says where a thread is
        wait_until(lambda: frames()[entry.thread_id].f_code.co_name == "end", what="the body ends")
        entry.cancelled = True
        interrupt(entry.thread_id, None, lambda: False)
    thread.join(GENEROUS_SECONDS)
    assert outcome == ["undisturbed"]


def test_the_current_grant_is_that_of_the_message_in_work() -> None:
    held = GrantTable()
    entry = added(held)
    assert current_grant() is None
    enter(entry)
    assert current_grant() is entry.grant
    leave()
    assert current_grant() is None
