"""Unique keys: of those that are sent with one key, one at a time waits, lives, or was accepted in some time."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import redis
from damaging import LEASE_MS, admitted
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.restoring import Known, Restored, Restoring
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.model.errors import NotUnique, QueueFull, UserLimitExceeded
from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.model.unique import Conflict, UniqueKey, Until

LANE = "mails"
KEY = "report:Acme Corp"
SECONDS = 600


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    return TurnedQueue(redis_client)


def send(
    queue: TurnedQueue,
    name: str,
    scope: Until | int = Until.STARTED,
    on_conflict: Conflict = Conflict.REFUSE,
    *,
    key: str = KEY,
    lane: str = LANE,
    user: str | None = None,
    delay_ms: int = 0,
    max_age_ms: int | None = None,
) -> None:
    queue.transitions.park(
        Candidate(
            name,
            lane,
            2,
            "report",
            user_id=user,
            due_ms=queue.clock.now_ms + delay_ms if delay_ms else None,
            max_age_ms=max_age_ms,
            message=f"message of {name}".encode(),
            unique=UniqueKey(key, scope, on_conflict),
        )
    )


def refused_for(queue: TurnedQueue, name: str, scope: Until | int = Until.STARTED, **options: object) -> str:
    """The one that has the key of another that is sent."""
    with pytest.raises(NotUnique) as refused:
        send(queue, name, scope, **options)  # type: ignore[arg-type]
    return refused.value.other


def state_of(queue: TurnedQueue, name: str) -> str:
    return queue.views.meta(name).get("state", "")


def end(queue: TurnedQueue, state: State = State.COMPLETED) -> None:
    (grant,) = admitted(queue, LANE)
    queue.transitions.release(grant.execution_id, grant.attempt, state)


def test_the_second_is_refused_with_the_key_and_the_first_ones_id_and_state(queue: TurnedQueue) -> None:
    send(queue, "first")
    with pytest.raises(
        NotUnique, match=r"'second' was not accepted: .*'report:Acme Corp'.*'first' .state PENDING."
    ) as it:
        send(queue, "second")
    assert (it.value.code, it.value.key, it.value.other, it.value.state) == ("not_unique", KEY, "first", State.PENDING)
    assert queue.views.meta("second") == {}
    (told,) = [entry for entry in queue.journal.entries() if entry.verb == "reject"]
    assert (told.execution_id, told.fields["reason"]) == ("second", "NOT_UNIQUE")


def test_another_key_and_no_key_are_let_in(queue: TurnedQueue) -> None:
    send(queue, "first")
    send(queue, "other", key="report:globex")
    queue.transitions.park(Candidate("without", LANE, 2, "report", message=b"message"))
    assert refused_for(queue, "second", lane="another-lane") == "first", "a key is the same in all lanes"


def test_until_it_has_started(queue: TurnedQueue) -> None:
    send(queue, "first")
    admitted(queue, LANE)
    send(queue, "second")
    assert refused_for(queue, "third") == "second"


def test_a_scheduled_one_waits_too(queue: TurnedQueue) -> None:
    send(queue, "first", delay_ms=60_000)
    assert refused_for(queue, "second") == "first"


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED])
def test_until_it_has_ended(queue: TurnedQueue, redis_client: redis.Redis, state: State) -> None:
    send(queue, "first", Until.ENDED)
    assert refused_for(queue, "second") == "first"
    (grant,) = admitted(queue, LANE)
    assert refused_for(queue, "third") == "first"
    queue.transitions.release("first", grant.attempt, state)
    assert not redis_client.exists(queue.scripts.keys.unique(KEY)), "nothing is left"
    send(queue, "fourth", Until.ENDED)


def test_one_that_is_cancelled_gives_its_key_back(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, "first")
    queue.cancel("first")
    assert not redis_client.exists(queue.scripts.keys.unique(KEY))
    send(queue, "second")


def test_for_seconds_whatever_becomes_of_it(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, "first", SECONDS * 1000)
    end(queue)
    queue.clock.turn(SECONDS * 1000 - 1)
    assert refused_for(queue, "second") == "first"
    redis_client.delete(queue.scripts.keys.ended("first"))
    assert refused_for(queue, "third") == "first", "also once it is forgotten"
    queue.clock.turn(1)
    send(queue, "fourth", SECONDS * 1000)
    assert 0 < redis_client.ttl(queue.scripts.keys.unique(KEY)) <= SECONDS  # type: ignore[operator]


def test_after_a_retry_it_has_its_key_again(queue: TurnedQueue) -> None:
    send(queue, "first")
    (grant,) = admitted(queue, LANE)
    queue.transitions.settle(Retry("first", grant.attempt, "retry", delay_ms=60_000))
    assert refused_for(queue, "second") == "first"


def test_after_a_retry_another_may_have_its_key(queue: TurnedQueue) -> None:
    send(queue, "first")
    (grant,) = admitted(queue, LANE)
    send(queue, "second")
    queue.transitions.settle(Retry("first", grant.attempt, "retry"))
    assert refused_for(queue, "third") == "second"
    queue.cancel("first")
    assert refused_for(queue, "fourth") == "second", "the end of one takes no other's key"


def test_one_that_has_waited_too_long_keeps_nobody_out(queue: TurnedQueue) -> None:
    send(queue, "first", max_age_ms=1_000)
    queue.clock.turn(1_001)
    send(queue, "second")
    queue.maintenance.sweep()
    assert state_of(queue, "first") == "EXPIRED"
    assert refused_for(queue, "third") == "second"


@pytest.mark.parametrize("delay_ms", [0, 60_000])
def test_a_replaced_one_is_cancelled_and_its_sender_is_told(queue: TurnedQueue, delay_ms: int) -> None:
    send(queue, "first", delay_ms=delay_ms)
    queue.clock.turn(5)
    send(queue, "second", on_conflict=Conflict.REPLACE)
    meta = queue.views.meta("first")
    assert (meta["state"], meta["reason"]) == ("CANCELLED", "replaced")
    assert [(end.execution_id, end.state) for end in queue.outbox.collect(LANE, 10, taken_ms=1_000)] == [
        ("first", State.CANCELLED)
    ]
    assert [grant.execution_id for grant in queue.transitions.admit((LANE,), 5, lease_ms=LEASE_MS).grants] == ["second"]


def test_a_delayed_one_that_is_replaced_again_and_again_is_a_debounce(queue: TurnedQueue) -> None:
    for number in range(5):
        send(queue, f"e{number}", on_conflict=Conflict.REPLACE, delay_ms=10_000)
        queue.clock.turn(9_000)
    assert [state_of(queue, f"e{number}") for number in range(5)] == ["CANCELLED"] * 4 + ["SCHEDULED"]
    queue.clock.turn(1_000)
    queue.maintenance.promote()
    assert [grant.message for grant in admitted(queue, LANE)] == [b"message of e4"]


@pytest.mark.parametrize("scope", [Until.ENDED, SECONDS * 1000])
def test_one_that_runs_is_not_replaced(queue: TurnedQueue, scope: Until | int) -> None:
    send(queue, "first", scope)
    admitted(queue, LANE)
    assert refused_for(queue, "second", on_conflict=Conflict.REPLACE) == "first"
    assert state_of(queue, "first") == "RUNNING"


def test_a_replacement_has_the_place_of_what_it_replaces_in_a_full_lane(queue: TurnedQueue) -> None:
    lane = queue.on(LANE)
    lane.controls.change_setting("max_queue_size", 1)
    lane.controls.change_setting("max_executions_per_user", 1)
    send(queue, "first", user="ann")
    send(queue, "second", on_conflict=Conflict.REPLACE, user="ann")
    assert (state_of(queue, "first"), state_of(queue, "second")) == ("CANCELLED", "PENDING")
    with pytest.raises(QueueFull):
        send(queue, "third", key="another", on_conflict=Conflict.REPLACE)


def test_one_that_is_refused_replaces_nothing(queue: TurnedQueue) -> None:
    queue.on(LANE).controls.change_setting("max_executions_per_user", 1)
    send(queue, "first", user="ann")
    send(queue, "bobs", key="another", user="bob")
    with pytest.raises(UserLimitExceeded):
        send(queue, "second", on_conflict=Conflict.REPLACE, user="bob")
    assert state_of(queue, "first") == "PENDING"
    assert refused_for(queue, "third") == "first"


def test_of_many_in_one_call_each_replaces_the_one_before(queue: TurnedQueue) -> None:
    unique = UniqueKey(KEY, Until.STARTED, Conflict.REPLACE)
    many = [Candidate(f"e{n}", LANE, 2, "report", message=b"message", unique=unique) for n in range(10)]
    assert not any(isinstance(each, Exception) for each in queue.transitions.park_many(many))
    assert queue.on(LANE).get_queue_status()["queue_depth"] == 1
    assert [grant.execution_id for grant in admitted(queue, LANE)] == ["e9"]


@pytest.mark.parametrize("scope", list(Until))
def test_a_key_whose_execution_is_gone_is_free(queue: TurnedQueue, redis_client: redis.Redis, scope: Until) -> None:
    send(queue, "first", scope)
    redis_client.delete(queue.scripts.keys.meta("first"))
    send(queue, "second", scope)
    assert refused_for(queue, "third") == "second"


def test_a_key_that_names_another_execution_without_it_is_free(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    send(queue, "first", Until.ENDED)
    redis_client.delete(queue.scripts.keys.meta("first"), queue.scripts.keys.message("first"))
    queue.transitions.park(Candidate("first", LANE, 2, "report", message=b"without a key"))
    send(queue, "second")


@pytest.mark.parametrize("state", [State.PENDING, State.COMPLETED])
def test_what_the_ledger_brings_back_in_place_of_older_data_has_no_key(
    queue: TurnedQueue, redis_client: redis.Redis, state: State
) -> None:
    send(queue, "first", Until.ENDED)
    now_ms = queue.clock.now_ms
    is_over = state is State.COMPLETED
    known = Known("first", state, LANE, 2, "report", None, (), 1, "", now_ms, message=b"message")
    known = replace(known, ended_ms=now_ms) if is_over else replace(known, score=2e12 + now_ms)
    assert [restored for _, restored in Restoring(queue.scripts).restore([known])] == [Restored.RESTORED]
    assert not redis_client.exists(queue.scripts.keys.unique(KEY))
    send(queue, "second")


@pytest.mark.parametrize("scope", [*Until, SECONDS * 1000])
def test_a_key_of_another_type_keeps_nobody_out_and_no_slot(
    queue: TurnedQueue, redis_client: redis.Redis, scope: Until | int
) -> None:
    key = queue.scripts.keys.unique(KEY)
    redis_client.lpush(key, "not ours")
    send(queue, "first", scope)
    assert refused_for(queue, "second") == "first"
    redis_client.delete(key)
    redis_client.lpush(key, "not ours")
    end(queue)
    assert queue.on(LANE).get_queue_status()["active_count"] == 0


def commands_of_a_life(queue: TurnedQueue, client: Any, name: str, unique: UniqueKey | None) -> list[str]:
    """What the server is asked from its acceptance to its end."""
    with client.monitor() as monitor:
        queue.transitions.park(Candidate(name, LANE, 2, "report", message=b"message", unique=unique))
        end(queue)
        client.echo("the end")
        asked: list[str] = []
        for heard in monitor.listen():
            if heard["command"] == "ECHO the end":
                break
            asked.append(heard["command"].partition(" ")[0])
        return asked


def test_a_key_costs_two_reads_and_two_writes_and_none_costs_nothing(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for number in range(2):  # until each lane and each clock was noted in this second
        commands_of_a_life(queue, redis_client, f"warm-up-{number}", None)
    without = commands_of_a_life(queue, redis_client, "without", None)
    unique = UniqueKey(KEY, Until.STARTED, Conflict.DROP)
    with_one = Counter(commands_of_a_life(queue, redis_client, "with", unique))
    with_one.subtract(without)
    assert {name: more for name, more in with_one.items() if more} == {"GET": 2, "SET": 1, "DEL": 1}


def test_what_replaces_another_in_a_fair_lane_takes_its_place_once_that_one_is_gone(queue: TurnedQueue) -> None:
    """Tags begin anew when nothing of the band waits; as the only one, the second begins as the first did."""
    queue.shares.share(LANE, "user")
    send(queue, "first", on_conflict=Conflict.REPLACE, user="ann")
    queue.clock.turn(60_000)
    send(queue, "second", on_conflict=Conflict.REPLACE, user="ann")
    assert float(queue.views.meta("second")["score"]) == 2 * BAND_WIDTH_MS + queue.clock.now_ms + 1 / 1024
