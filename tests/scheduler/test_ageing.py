"""Ageing: in a lane with `ageing_seconds`, what waits so long in its band rises by one, at most to HIGH.

So a stream of better work keeps nothing waiting for ever. The naive model of `tests/model` lets executions rise beside
all other rules.
"""

import pytest
import redis
from ageing_lane import LANE, T_SECONDS, a_worker_asks, band, queue, send, take
from damaging import damaged
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.attending import Attending
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

__all__ = ["queue"]

CRITICAL, HIGH, NORMAL, LOW, BACKGROUND = Priority


def test_what_waits_rises_band_by_band_and_at_most_to_high(queue: TurnedQueue) -> None:
    for each in Priority:
        send(queue, each.name, band=each)
    seen: list[list[Priority]] = []
    for _ in range(4):
        queue.clock.turn(T_SECONDS * 1_000 - 1)
        a_worker_asks(queue)
        seen.append([band(queue, each.name) for each in Priority])
        queue.clock.turn(1)
        a_worker_asks(queue)
    assert seen == [
        [CRITICAL, HIGH, NORMAL, LOW, BACKGROUND],
        [CRITICAL, HIGH, HIGH, NORMAL, LOW],
        [CRITICAL, HIGH, HIGH, HIGH, NORMAL],
        [CRITICAL, HIGH, HIGH, HIGH, HIGH],
    ]
    assert take(queue, 5) == [each.name for each in Priority], "each has its own time in its new band"


@pytest.mark.parametrize(
    ("own", "stream", "periods"),
    [(LOW, NORMAL, 1), (BACKGROUND, NORMAL, 3), (LOW, HIGH, 2), (BACKGROUND, HIGH, 3)],
)
@pytest.mark.parametrize("ages", [True, False])
def test_a_stream_of_better_work_starves_what_waits_unless_that_ages(
    own: Priority, stream: Priority, periods: int, ages: bool, queue: TurnedQueue
) -> None:
    """Two come each second, and one starts: some of the stream always waits, more and more, and rises itself."""
    queue.controls.change_setting("ageing_seconds", T_SECONDS if ages else None, lane=LANE)
    queue.controls.change_setting("max_concurrent_executions", 1, lane=LANE)
    send(queue, "stream-0", "stream-1", band=stream)
    send(queue, "starving", band=own)
    started: list[str] = []
    for second in range(1, (periods + 3) * T_SECONDS):
        (name,) = take(queue)
        started.append(name)
        queue.transitions.release(name, 1, State.COMPLETED)
        if name == "starving":
            break
        queue.clock.turn(1_000)
        send(queue, f"stream-{2 * second}", f"stream-{2 * second + 1}", band=stream)
    if not ages:
        assert "starving" not in started
        return
    assert periods <= own - HIGH, "in HIGH only what was accepted before it goes before"
    assert started.index("starving") == periods * T_SECONDS


def test_what_rose_to_high_stands_behind_what_was_high_before_and_before_what_came_later(queue: TurnedQueue) -> None:
    queue.controls.pause(f"lane:{LANE}")
    send(queue, "high-before", band=HIGH)
    send(queue, "low")
    send(queue, "high-after", band=HIGH)
    for _ in range(2):
        queue.clock.turn(T_SECONDS * 1_000)
        a_worker_asks(queue)
    send(queue, "critical", band=CRITICAL)
    queue.controls.resume(f"lane:{LANE}")
    assert take(queue, 4) == ["critical", "high-before", "low", "high-after"]


def test_a_rise_stands_in_the_journal_as_a_move_that_nobody_asked_for(queue: TurnedQueue) -> None:
    send(queue, "old")
    queue.clock.turn(T_SECONDS * 1_000)
    a_worker_asks(queue)
    entry = queue.journal.of("old")[-1]
    assert entry.verb == "reprioritise"
    fields = entry.fields
    assert {name: fields[name] for name in ("reason", "from", "to", "state")} == {
        "reason": "aged",
        "from": "3",
        "to": "2",
        "state": "PENDING",
    }
    assert "by" not in fields
    assert float(fields["score"]) == float(queue.views.meta("old")["score"])


def test_time_in_a_pause_and_behind_a_closed_gate_counts(queue: TurnedQueue) -> None:
    queue.controls.pause(f"lane:{LANE}")
    queue.transitions.park(Candidate("gated", LANE, int(LOW), "send", gates=("gpu",), message=b"x"))
    queue.controls.set_limit("gpu", 0)
    queue.clock.turn(T_SECONDS * 1_000)
    a_worker_asks(queue)
    assert band(queue, "gated") is NORMAL


def test_an_operators_move_begins_the_time_in_the_band_anew(queue: TurnedQueue) -> None:
    send(queue, "moved", "left")
    queue.clock.turn(T_SECONDS * 500)
    queue.transitions.reprioritise("moved", int(BACKGROUND))
    queue.clock.turn(T_SECONDS * 500)
    a_worker_asks(queue)
    assert (band(queue, "moved"), band(queue, "left")) == (BACKGROUND, NORMAL)
    queue.clock.turn(T_SECONDS * 500)
    a_worker_asks(queue)
    assert (band(queue, "moved"), band(queue, "left")) == (LOW, NORMAL)


def test_a_retry_keeps_the_band_that_it_reached_and_its_time_begins_anew(queue: TurnedQueue) -> None:
    send(queue, "again", band=BACKGROUND)
    queue.clock.turn(T_SECONDS * 1_000)
    assert take(queue) == ["again"]
    assert band(queue, "again") is LOW
    queue.clock.turn(T_SECONDS * 1_000)
    queue.transitions.settle(Retry("again", 1, "retry"))
    a_worker_asks(queue)
    assert band(queue, "again") is LOW, "it did not wait while it ran"
    queue.clock.turn(T_SECONDS * 1_000)
    a_worker_asks(queue)
    assert band(queue, "again") is NORMAL


def test_a_setting_that_is_set_changed_or_lifted_holds_for_what_waits_already(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    names = [f"e{number}" for number in range(3 * 200 + 1)]
    send(queue, *names, lane="other")
    queue.clock.turn(50_000)
    assert redis_client.exists("exec_queue:ageing") == 0
    queue.controls.change_setting("ageing_seconds", 100, lane="other")
    queue.maintenance.sweep()
    assert redis_client.zcard("exec_queue:ageing") == len(names)
    queue.controls.change_setting("ageing_seconds", 50, lane="other")
    queue.maintenance.sweep()
    assert {band(queue, name) for name in names} == {NORMAL}
    queue.controls.change_setting("ageing_seconds", None, lane="other")
    queue.maintenance.sweep()
    queue.clock.turn(10**9)
    queue.maintenance.sweep()
    assert redis_client.exists("exec_queue:ageing") == 0
    assert {band(queue, name) for name in names} == {NORMAL}
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_what_rises_in_a_fair_lane_gets_a_turn_in_its_new_band(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    queue.shares.share(LANE, "user")
    queue.maintenance.sweep()
    queue.controls.pause(f"lane:{LANE}")
    send(queue, "ann-0", "ann-1", "ann-2", user="ann")
    queue.clock.turn(T_SECONDS * 1_000)
    send(queue, "bob-0", "bob-1", "bob-2", user="bob", band=NORMAL)
    a_worker_asks(queue)
    assert band(queue, "ann-2") is NORMAL
    Invariants().check(read_dump(redis_client, queue.scripts.keys))
    queue.controls.resume(f"lane:{LANE}")
    assert [name.split("-")[0] for name in take(queue, 6)] == ["bob", "ann"] * 3


def test_a_record_that_is_damaged_or_lost_holds_back_no_other(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, "lost", "damaged", "whole")
    redis_client.delete("exec_queue:meta:lost")
    queue.clock.turn(T_SECONDS * 1_000)
    with damaged(redis_client, "meta:damaged"):
        a_worker_asks(queue)
        assert band(queue, "whole") is NORMAL
        assert {*redis_client.zrange("exec_queue:ageing", 0, -1)} == {b"damaged", b"whole"}  # type: ignore[misc]
    queue.clock.turn(1_000)
    a_worker_asks(queue)
    assert band(queue, "damaged") is NORMAL


def test_slots_that_code_takes_do_not_age(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    queue.controls.change_setting("ageing_seconds", T_SECONDS, lane="slot:*")
    queue.controls.set_limit("action:slow", 0)
    Attending(queue.scripts).attend("owner", ())
    queue.transitions.park(Candidate("slot:owner:1", "slot:slow", int(LOW), "slow", event=b"{}"))
    assert redis_client.exists("exec_queue:ageing") == 0
    queue.maintenance.sweep()
    assert redis_client.exists("exec_queue:ageing") == 0


def test_nothing_is_left_behind(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, "taken", "cancelled", "removed", "lost", band=BACKGROUND)
    queue.transitions.park(Candidate("expired", LANE, int(LOW), "send", message=b"x", max_age_ms=T_SECONDS * 500))
    queue.clock.turn(T_SECONDS * 1_000)
    queue.maintenance.sweep()
    assert len(redis_client.zrange("exec_queue:ageing", 0, -1)) == 4  # type: ignore[arg-type]
    assert queue.cancel("cancelled")
    queue.transitions.remove("removed")
    assert take(queue) == ["taken"]
    queue.transitions.release("taken", 1, State.COMPLETED)
    Invariants().check(read_dump(redis_client, queue.scripts.keys))
    redis_client.delete("exec_queue:meta:lost")
    assert take(queue) == []
    assert redis_client.exists("exec_queue:ageing") == 0
