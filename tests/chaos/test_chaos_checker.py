"""What judges a chaos run finds what must not be, each kind of it planted; and nothing where nothing is."""

from dataclasses import replace

import pytest
import redis
from defects.contrast import event
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.closing import Closing
from chaos.following import kept_of
from chaos.found import Found, Kind
from chaos.judging import judge
from chaos.plan import FAIR, KIND, Planned
from chaos.planted import LIVE, plant, plant_in_redis
from chaos.recorded import ACCEPTED, Forgotten, Recorded, Run, Sent, Timed

NAMES = ("a", "b", "c")
RECORDED = [kind for kind in Kind if kind not in LIVE]


def work(client: redis.Redis) -> Recorded:
    """Three that were sent, granted and completed, with a retry; and what their programs would have noted."""
    queue = ExecutionQueueService(client)
    queue.controls.set_limit("gpu", 1)
    recorded = Recorded()
    for name in NAMES:
        queue.enqueue(event(name, gates=["gpu"]))
        recorded.sent[name] = Sent(Planned(queue.lane, 0.0), 1.0, 2.0, ACCEPTED)
    for number, name in enumerate(NAMES):
        assert queue.try_schedule() is not None
        recorded.runs.append(Run(name, 1, "ended"))
        if number == 1:
            recorded.runs[-1].over = "failed"
            queue.retry(name, 1)
            assert queue.try_schedule() is not None
            recorded.runs.append(Run(name, 2, "ended"))
        queue.release(name)
    recorded.entries = list(queue.journal.entries())
    return recorded


def found_in(recorded: Recorded) -> Found:
    found = Found()
    judge(recorded, found, {FAIR: KIND}, {})
    return found


def test_nothing_is_found_where_nothing_is(redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    assert not found_in(recorded).lines()
    assert [entry.verb for entry in recorded.entries].count(Verb.ADMIT) == len(NAMES) + 1


@pytest.mark.parametrize("kind", RECORDED)
def test_what_is_planted_is_found(kind: Kind, redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    plant([kind], recorded)
    assert found_in(recorded).counts[kind]


def test_what_is_planted_is_found_beside_everything_else(redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    plant(RECORDED, recorded)
    assert found_in(recorded).counts.keys() >= {*RECORDED}


def test_a_key_that_is_left_over_is_found_and_threads_that_take_no_work(redis_client: redis.Redis) -> None:
    found, queue = Found(), ExecutionQueueService(redis_client)
    closing = Closing(queue, found, settling_seconds=0.1)
    plant_in_redis([Kind.LEFT_OVER], queue)
    closing.look(threads=0, longest_seconds=0.1)
    assert found.counts.keys() == {Kind.LEFT_OVER, Kind.NO_THREAD}


def test_work_that_does_not_end_is_found(redis_client: redis.Redis) -> None:
    found, queue = Found(), ExecutionQueueService(redis_client, lane="alpha")
    queue.enqueue(event("a"))
    Closing(queue, found, settling_seconds=0.1).wait_for_ends(lambda: None)
    assert found.counts.keys() == {Kind.NOT_ENDED}


def lose(recorded: Recorded, *verbs: Verb) -> None:
    """The server forgets what happened to the first, and it is done again under the same attempt."""
    lost = [entry for entry in recorded.entries if entry.execution_id == "a" and entry.verb in verbs]
    recorded.forgotten.append(Forgotten(0.5, 2.5, tuple(lost)))


def test_what_a_restored_server_forgot_is_forgiven_by_name(redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    recorded.runs.append(Run("a", 1))
    assert found_in(recorded).counts.keys() == {Kind.RAN_TWICE}
    lose(recorded, Verb.ADMIT)
    assert not found_in(recorded).lines()
    recorded.runs.append(Run("b", 1))
    assert found_in(recorded).counts.keys() == {Kind.RAN_TWICE}


def test_what_was_accepted_while_the_server_could_forget_is_forgiven_and_no_other(redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    recorded.entries = [entry for entry in recorded.entries if entry.execution_id != "a"]
    recorded.runs = [run for run in recorded.runs if run.execution_id != "a"]
    assert found_in(recorded).counts.keys() == {Kind.LOST}
    recorded.forgotten.append(Forgotten(2.5, 3.5, ()))
    assert found_in(recorded).counts.keys() == {Kind.LOST}, "its answer had come before the copy"
    recorded.forgotten.append(Forgotten(1.5, 3.5, ()))
    assert not found_in(recorded).lines()


def test_what_a_restored_server_has_is_known_though_workers_were_faster(redis_client: redis.Redis) -> None:
    first, second, third, *_ = entries = work(redis_client).entries
    newer = replace(third, entry_id="9999999999999-0")
    assert kept_of(entries, [newer, second, first]) == 2
    same_id = replace(first, entry_id=third.entry_id)
    assert kept_of(entries, [same_id, second, first]) == 2, "by a clock that was set back"
    assert kept_of(entries, [newer]) == 0


def with_end(recorded: Recorded, state: State) -> Recorded:
    def changed(entry: JournalEntry) -> JournalEntry:
        is_end = entry.execution_id == "a" and entry.verb == Verb.RELEASE
        return replace(entry, fields={**entry.fields, "state": state}) if is_end else entry

    recorded.entries = [changed(entry) for entry in recorded.entries]
    return recorded


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED, State.EXPIRED, State.TIMEOUT])
def test_another_end_than_the_planned_one_has_to_have_a_cause(state: State, redis_client: redis.Redis) -> None:
    recorded = with_end(work(redis_client), state)
    assert found_in(recorded).counts.keys() == {Kind.WRONG_END}
    recorded.sent["a"].planned.gives_up = state is State.FAILED
    recorded.runs[0].over = "failed"
    recorded.cancelled |= {"a"} if state is State.CANCELLED else set()
    recorded.sent["a"].planned.options |= {"max_age": 1} if state is State.EXPIRED else {}
    assert bool(found_in(recorded).lines()) == (state is State.TIMEOUT)


def test_a_plain_message_may_become_one_execution_only(redis_client: redis.Redis) -> None:
    recorded = work(redis_client)
    first = [entry for entry in recorded.entries if entry.execution_id == "a"]
    recorded.entries += [replace(entry, execution_id="a.again") for entry in first]
    recorded.runs.append(Run("a.again", 1, "ended"))
    assert Kind.ACCEPTED_TWICE in found_in(recorded).counts


def timed_work(played: Played) -> Recorded:
    """Ten minutes of one schedule that is changed, paused and resumed meanwhile; nothing of it is granted."""
    recorded = Recorded()
    played.schedules.put(schedule(missed="all"))
    played.let_run(3 * MINUTE_MS)
    played.schedules.put(schedule(missed="all", priority="HIGH"))
    played.let_run(2 * MINUTE_MS)
    played.schedules.pause("tidy")
    played.let_run(2 * MINUTE_MS)
    played.schedules.resume("tidy")
    played.let_run(3 * MINUTE_MS)
    held = played.schedules.get("tidy")
    recorded.schedules["tidy"] = Timed(held.cursor_ms, held.skipped, played.clock.now_ms)
    played.schedules.remove("tidy")
    for name in played.waiting_ids():
        recorded.cancelled.add(name)
        played.cancel(name)
    recorded.entries = list(played.journal.entries())
    return recorded


def without(recorded: Recorded, *names: str) -> Recorded:
    recorded.entries = [entry for entry in recorded.entries if entry.execution_id not in names]
    return recorded


@pytest.fixture
def played(redis_client: redis.Redis) -> Played:
    return Played(redis_client)


def test_nothing_is_found_of_schedules_that_are_changed_and_paused(played: Played) -> None:
    recorded = timed_work(played)
    assert not found_in(recorded).lines()
    parked = {entry.execution_id for entry in recorded.entries if entry.verb == Verb.PARK}
    assert parked >= {*ids("tidy", 1, 2, 3, 4, 5, 8, 9, 10)}


def test_an_occurrence_that_is_missing_is_found_unless_it_is_counted(played: Played) -> None:
    (missing,) = ids("tidy", 9)
    recorded = without(timed_work(played), missing)
    assert found_in(recorded).counts == {Kind.PASSED_OVER: 1}
    recorded.schedules["tidy"] = replace(recorded.schedules["tidy"], skipped=1)
    assert not found_in(recorded).lines()


def test_an_occurrence_of_a_span_that_has_ended_is_found_missing(played: Played) -> None:
    assert found_in(without(timed_work(played), *ids("tidy", 1))).counts == {Kind.PASSED_OVER: 1}


def test_an_occurrence_of_a_schedule_that_is_paused_is_found(played: Played) -> None:
    recorded = timed_work(played)
    parked = next(entry for entry in recorded.entries if entry.execution_id in ids("tidy", 8))
    where = next(
        number for number, entry in enumerate(recorded.entries) if entry.fields.get("to", "").find(" paused ") > 0
    )
    recorded.entries.insert(where + 1, replace(parked, execution_id=ids("tidy", 7)[0]))
    assert found_in(recorded).counts.keys() == {Kind.UNASKED, Kind.NOT_ENDED}


def test_an_occurrence_that_ended_may_not_come_again(played: Played) -> None:
    recorded = timed_work(played)
    (first,) = ids("tidy", 1)
    park = next(entry for entry in recorded.entries if entry.execution_id == first)
    end = [entry for entry in recorded.entries if entry.execution_id == first][-1]
    recorded.entries.insert(recorded.entries.index(end) + 1, park)
    assert Kind.ACCEPTED_TWICE in found_in(recorded).counts


def test_an_occurrence_that_ends_for_no_reason_is_found(played: Played) -> None:
    recorded = timed_work(played)
    recorded.cancelled -= {*ids("tidy", 2)}
    assert found_in(recorded).counts == {Kind.WRONG_END: 1}
