"""Slots over several processes: one order, and what a process leaves when it is killed, forks, or ends."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from crowding import NAME, crowd, in_queue, is_free, wait_for_one_more
from forked import holds_in_child

from bandmaster import ExecutionQueueService, Slots, State
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

LEASE_MS = 4_000
LIMIT = 1


class Taker:
    """A process of `taking.py`."""

    def __init__(self, url: str, queue: ExecutionQueueService) -> None:
        program = Path(__file__).with_name("taking.py")
        command = [sys.executable, str(program), url, NAME, str(LIMIT)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
        self._queue = queue

    def enter(self, who: str) -> None:
        """Have one of its threads wait, behind all that wait."""
        wait_for_one_more(self._queue, lambda: self.say("enter", who))

    def say(self, command: str, who: str) -> None:
        """Tell it something."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command} {who}\n")
        self._process.stdin.flush()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Nothing of it gets to do anything more."""
        self._process.kill()
        self._process.communicate()

    def end(self) -> None:
        """Ends in order."""
        self._process.communicate()
        assert self._process.returncode == 0


@pytest.fixture
def take(redis_url: str, queue: ExecutionQueueService) -> Iterator[Callable[[], Taker]]:
    """Starts takers, with short leases; all are ended."""
    queue.controls.change_setting("lease_ttl_ms", LEASE_MS)
    takers: list[Taker] = []

    def start() -> Taker:
        takers.append(Taker(redis_url, queue))
        return takers[-1]

    yield start
    for taker in takers:
        taker.kill()
    wait_until(lambda: _tended(queue), what="the end of what they left")


def _tended(queue: ExecutionQueueService) -> bool:
    queue.maintenance.reap()
    queue.maintenance.sweep()
    return is_free(queue)


def _order(client: redis.Redis) -> list[str]:
    return [str(each, "utf-8") for each in client.lrange("order", 0, -1)]  # type: ignore[arg-type]


def _ends(queue: ExecutionQueueService, waits: str) -> list[tuple[str, str]]:
    """State and reason of every end of one execution in the journal."""
    found = [entry for entry in queue.journal.entries() if entry.execution_id == waits]
    return [
        (entry.fields["state"], entry.fields.get("reason", "")) for entry in found if entry.fields["state"] in _TERMINAL
    ]


_TERMINAL = {"COMPLETED", "FAILED", "CANCELLED", "EXPIRED", "TIMEOUT"}


def test_processes_get_slots_in_the_order_in_which_they_asked(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis, take: Callable[[], Taker]
) -> None:
    one, other = take(), take()
    with slots.slot(NAME, limit=LIMIT):
        for number in range(10):
            (one, other)[number % 2].enter(str(number))
    for number in range(10):
        wait_until(lambda: len(_order(redis_client)) == number + 1)  # noqa: B023
        (one, other)[number % 2].say("leave", str(number))
    assert _order(redis_client) == [str(number) for number in range(10)]
    wait_until(lambda: is_free(queue))
    one.end()
    other.end()
    redis_client.delete("order")


def test_the_slot_of_a_killed_process_is_free_after_its_lease(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis, take: Callable[[], Taker]
) -> None:
    killed = take()
    killed.enter("holds")
    wait_until(lambda: _order(redis_client) == ["holds"])
    (held,) = queue.on(f"slot:{NAME}").views.active()
    with crowd(slots, queue, LIMIT) as waiting:
        waiting.enter("waits")
        killed.kill()
        wait_until(lambda: waiting.order, what="the slot of the killed process")
        assert _ends(queue, held) == [(State.FAILED, "lease_lost")], "its code runs no second time"
    redis_client.delete("order")


def test_killed_waiters_at_the_front_hold_nobody_back_longer_than_a_lease_in_all(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis, take: Callable[[], Taker]
) -> None:
    killed = take()
    with crowd(slots, queue, LIMIT) as waiting:
        waiting.enter("holds")
        for number in range(30):
            killed.enter(str(number))
        waiting.enter("waits")
        ids = queue.on(f"slot:{NAME}").views.pending()
        killed.kill()
        waiting.leave("holds")
        wait_until(lambda: waiting.has_got("holds", "waits"), what="who waits behind the dead")
        ends = [_ends(queue, each) for each in ids[:30]]
        assert [len(end) for end in ends] == [1] * 30
        assert {end[0] for end in ends} <= {(State.EXPIRED, "waiter_lost"), (State.FAILED, "lease_lost")}
        assert sum(end[0][0] == State.FAILED for end in ends) <= 1, "at most one was granted a slot after its death"
    redis_client.delete("order")


def test_what_a_killed_process_waited_for_ends_even_behind_a_closed_gate(
    slots: Slots, queue: ExecutionQueueService, take: Callable[[], Taker]
) -> None:
    killed = take()
    with crowd(slots, queue, LIMIT) as holding:
        holding.enter("holds")
        killed.enter("waits")
        killed.kill()
        holding.enter("waits here")
        wait_until(lambda: queue.action_statistics(NAME).queue_length == 1, what="the end of the dead one's wait")
        holding.leave("holds")


def test_a_process_that_was_stopped_past_its_lease_waits_on_in_its_order(
    slots: Slots, queue: ExecutionQueueService, redis_client: redis.Redis, take: Callable[[], Taker]
) -> None:
    stopped, those = take(), [str(number) for number in range(12)]
    with crowd(slots, queue, LIMIT) as waiting:
        waiting.enter("holds")
        for who in those:
            stopped.enter(who)
        stopped.signal(signal.SIGSTOP)
        waiting.enter("waits", holds=False)
        wait_until(lambda: queue.action_statistics(NAME).queue_length == 1, what="the end of its waits")
        stopped.signal(signal.SIGCONT)
        wait_until(lambda: queue.action_statistics(NAME).queue_length == 1 + len(those), what="its next waits")
        waiting.leave("holds")
        for number, who in enumerate(those, start=1):
            wait_until(lambda: len(_order(redis_client)) == number)  # noqa: B023
            stopped.say("leave", who)
        assert _order(redis_client) == those
        wait_until(lambda: is_free(queue))
        assert waiting.order == ["holds", "waits"], "who was not stopped had kept its place"
    redis_client.delete("order")


def test_a_process_that_ends_gives_back_what_its_threads_hold_and_leaves_the_queue(
    queue: ExecutionQueueService, redis_client: redis.Redis, take: Callable[[], Taker]
) -> None:
    queue.controls.change_setting("lease_ttl_ms", 600_000)
    ends = take()
    ends.enter("holds")
    ends.enter("waits")
    wait_until(lambda: _order(redis_client) == ["holds"])
    ends.end()
    assert is_free(queue), "it did so itself, long before its lease is over"
    redis_client.delete("order")


def test_a_forked_child_takes_slots_of_its_own_and_gives_none_of_its_parents_back(
    slots: Slots, queue: ExecutionQueueService
) -> None:
    parents = slots.slot(NAME, limit=2)
    with parents:

        def act() -> bool:
            with slots.slot(NAME, timeout=GENEROUS_SECONDS):
                has_two = in_queue(queue) == 2
            parents.__exit__(None, None, None)
            return has_two and in_queue(queue) == 1

        assert holds_in_child(act)
        assert in_queue(queue) == 1
    assert is_free(queue)


def test_a_child_forked_while_others_wait_does_not_wait_for_them(slots: Slots, queue: ExecutionQueueService) -> None:
    with crowd(slots, queue, LIMIT) as waiting:
        waiting.enter("holds")
        waiting.enter("waits")

        def act() -> bool:
            with slots.slot("other", limit=1, timeout=GENEROUS_SECONDS):
                return in_queue(queue) == 2

        assert holds_in_child(act)
        waiting.leave("holds")
        wait_until(lambda: waiting.has_got("holds", "waits"))
