"""One call settles many grants and admits from many lanes; what fails on damaged data fails for itself alone."""

from collections.abc import Callable
from typing import Any, Final

import pytest
import redis
from damaging import LEASE_MS, WRONG_TYPE, admitted, contents, damaged, park
from model.dump import nothing_ends_by_itself, read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, Exchange, Grant, pod_holder, read_exchange
from bandmaster.scheduler.engine.settlements import Release, Retry, Settlement
from bandmaster.scheduler.engine.transitions import NOTHING_NEXT, Next
from bandmaster.scheduler.model.states import State

KINDS: Final = ("completed", "failed", "retried", "handed-back", "cancelled", "stale", "poisoned", "pod", "last")
POISONS: Final = ("gate:gpu:held", "lane:broken:active", "meta:poisoned")
"""Each is the poisoned one's alone."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    return TurnedQueue(redis_client)


def exchange(queue: TurnedQueue, settlements: list[Settlement], following: Next = NOTHING_NEXT) -> Exchange:
    return read_exchange(queue.transitions.prepare_exchange(settlements, following).run())


def one_of_each_kind(queue: TurnedQueue) -> list[Settlement]:
    """A grant of each, and how each is settled."""
    for kind in KINDS:
        poisoned = kind == "poisoned"
        park(queue, "broken" if poisoned else "mail", kind, gates=("gpu",) if poisoned else ("shared",))
    held = {grant.execution_id: grant for grant in admitted(queue, "mail", "broken", count=len(KINDS))}
    queue.cancel("cancelled")
    queue.transitions.hand_over("pod", 1, "a-pod", "uid", holder=held["pod"].nonce)

    def release(kind: str, state: State = State.COMPLETED, **given: Any) -> Release:
        fields: dict[str, Any] = {"holder": held[kind].nonce, "only": State.RUNNING} | given
        return Release(kind, 1, state, **fields)

    return [
        release("completed", result=b"{}"),
        release("failed", State.FAILED, reason="raised", dead=True),
        Retry("retried", 1, "retry", held["retried"].nonce, delay_ms=60_000, message=b"another message"),
        Retry("handed-back", 1, "hand_back", held["handed-back"].nonce),
        release("poisoned"),
        release("cancelled", State.FAILED),
        release("stale", holder="another's"),
        release("pod", State.FAILED, holder=pod_holder("uid"), only=State.POD),
        release("last"),
    ]


EXPECTED: Final = {
    "completed": (Code.OK, State.COMPLETED),
    "failed": (Code.OK, State.FAILED),
    "retried": (Code.OK, State.SCHEDULED),
    "handed-back": (Code.OK, State.PENDING),
    "poisoned": (Code.ERROR, None),
    "cancelled": (Code.OK, State.CANCELLED),
    "stale": (Code.STALE, State.RUNNING),
    "pod": (Code.OK, State.FAILED),
    "last": (Code.OK, State.COMPLETED),
}


@pytest.mark.parametrize("poison", POISONS)
def test_a_batch_settles_each_as_alone_and_one_that_fails_fails_alone(
    poison: str, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    settlements = one_of_each_kind(queue)
    with damaged(redis_client, poison):
        alone = [exchange(queue, [each]).outcomes[0] for each in settlements]
        expected = contents(redis_client, queue)
    redis_client.flushdb()
    queue.clock.turn(0)
    settlements = one_of_each_kind(queue)
    with damaged(redis_client, poison):
        answer = exchange(queue, settlements)
        assert contents(redis_client, queue) == expected
    assert answer.outcomes == alone
    assert answer.failures == {}
    found = {each.execution_id: (o.code, o.state) for each, o in zip(settlements, answer.outcomes, strict=True)}
    assert found == EXPECTED
    assert WRONG_TYPE in next(outcome.error for outcome in answer.outcomes if outcome.code is Code.ERROR)


@pytest.mark.parametrize("poison", POISONS)
def test_what_failed_takes_effect_when_its_data_was_mended(
    poison: str, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    settlements = one_of_each_kind(queue)
    poisoned = next(each for each in settlements if each.execution_id == "poisoned")
    with damaged(redis_client, poison):
        exchange(queue, settlements)
    (outcome,) = exchange(queue, [poisoned]).outcomes
    assert (outcome.code, outcome.state) == (Code.OK, State.COMPLETED)
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_a_batch_of_which_a_part_failed_made_again_answers_the_same_and_changes_nothing(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    settlements = one_of_each_kind(queue)
    park(queue, "mail", "next")
    call = queue.transitions.prepare_exchange(settlements, Next(("mail", "broken"), 3, LEASE_MS))
    with damaged(redis_client, "gate:gpu:held"):
        answer = call.run()
        with nothing_ends_by_itself(redis_client, queue.scripts.keys):
            before = read_dump(redis_client, queue.scripts.keys).contents()
            assert call.run() == answer
            assert read_dump(redis_client, queue.scripts.keys).contents() == before
    assert call.run() == answer
    assert {grant.execution_id for grant in read_exchange(answer).admission.grants} == {"handed-back", "next"}


def bound(lane: str) -> Callable[[TurnedQueue], Any]:
    return lambda queue: queue.controls.change_setting("max_concurrent_executions", 2, lane=lane)


DAMAGES: Final[dict[str, tuple[str, Callable[[TurnedQueue], Any]]]] = {
    "slots": ("lane:broken:active", lambda _: None),
    "slots of a bounded lane": ("lane:broken:active", bound("broken")),
    "gate": ("gate:gpu:held", lambda _: None),
    "gate with a limit": ("gate:gpu:held", lambda queue: queue.controls.set_limit("gpu", 5)),
    "ready": ("ready:broken", lambda _: None),
    "record": ("meta:broken-1", lambda _: None),
}


@pytest.mark.parametrize("settles", [False, True], ids=["asked", "settling"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_lane_is_left_out_and_named_and_loses_nothing(
    damage: str, settles: bool, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    key, control = DAMAGES[damage]
    control(queue)
    # With no slot to spare: one that is counted twice would leave a healthy lane without.
    queue.controls.change_setting("max_concurrent", 3)
    park(queue, "mail", "ended", band=0)
    (ended,) = admitted(queue, "mail")
    park(queue, "broken", "broken-1", "broken-2", band=1, gates=("gpu",))
    park(queue, "mail", "mail-1", "mail-2")
    park(queue, "letters", "letter-1", "letter-2")
    settlements: list[Settlement] = [Release("ended", 1, State.COMPLETED, ended.nonce)]
    if not settles:
        exchange(queue, settlements)
    following = Next(("broken", "mail", "letters"), 3, LEASE_MS)
    with damaged(redis_client, key):
        answer = exchange(queue, settlements if settles else [], following)
        assert [grant.execution_id for grant in answer.admission.grants] == ["mail-1", "mail-2", "letter-1"]
        assert answer.failures.keys() == {"broken"}
        assert WRONG_TYPE in answer.failures["broken"]
        for grant in answer.admission.grants[:2]:
            assert exchange(queue, [Release(grant.execution_id, 1, State.COMPLETED)]).outcomes[0].code is Code.OK
    queue.controls.change_setting("max_concurrent", None)
    rest = exchange(queue, [], following).admission.grants
    assert [grant.execution_id for grant in rest] == ["broken-1", "broken-2", "letter-2"]
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


@pytest.mark.parametrize("settles", [False, True], ids=["asked", "settling"])
def test_a_single_damaged_lane_is_named(settles: bool, queue: TurnedQueue, redis_client: redis.Redis) -> None:
    park(queue, "broken", "broken-1")
    settlements: list[Settlement] = [Release("unheard-of", 1, State.COMPLETED)] if settles else []
    with damaged(redis_client, "lane:broken:active"):
        answer = exchange(queue, settlements, Next(("broken",), 1, LEASE_MS))
    assert (answer.admission.grants, answer.admission.more, answer.failures.keys()) == ([], False, {"broken"})


@pytest.mark.parametrize("key", ["wake:broken", "lane:broken:outbox"])
def test_damage_beside_the_way_of_a_grant_hinders_none(key: str, queue: TurnedQueue, redis_client: redis.Redis) -> None:
    park(queue, "broken", "told", "broken-1", "broken-2")
    queue.cancel("told")
    park(queue, "mail", "mail-1")
    with damaged(redis_client, key):
        call = queue.transitions.prepare_exchange((), Next(("broken", "mail"), 1, LEASE_MS), asks=True)
        assert [grant.execution_id for grant in read_exchange(call.run()).admission.grants] == ["broken-1"]
    answer = exchange(queue, [Release("broken-1", 1, State.COMPLETED)], Next(("broken", "mail"), 2, LEASE_MS))
    assert [grant.execution_id for grant in answer.admission.grants] == ["broken-2", "mail-1"]
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_slots_gates_and_tokens_are_right_after_a_failure(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    """A neighbour of what failed gives back its lane's last slot, which is given on, and opens another lane's gate."""
    bound("mail")(queue)
    queue.controls.set_limit("narrow", 1)
    park(queue, "mail", "ended", "stays")
    park(queue, "broken", "poisoned", gates=("gpu",))
    park(queue, "letters", "narrow-1", gates=("narrow",))
    held: dict[str, Grant] = {each.execution_id: each for each in admitted(queue, "mail", "broken", "letters", count=4)}
    park(queue, "mail", "mail-1", "mail-2")
    park(queue, "letters", "narrow-2", "narrow-3", gates=("narrow",))
    assert queue.transitions.admit(("mail", "letters"), 2).grants == []
    redis_client.delete("exec_queue:wake:mail", "exec_queue:wake:letters")
    names = ("poisoned", "ended", "narrow-1")
    settlements: list[Settlement] = [Release(name, 1, State.COMPLETED, held[name].nonce) for name in names]
    with damaged(redis_client, "gate:gpu:held"):
        answer = exchange(queue, settlements, Next(("mail",), 5, LEASE_MS))
    assert [outcome.code for outcome in answer.outcomes] == [Code.ERROR, Code.OK, Code.OK]
    assert [grant.execution_id for grant in answer.admission.grants] == ["mail-1"]
    assert redis_client.llen("exec_queue:wake:mail") == 0
    assert redis_client.llen("exec_queue:wake:letters") == 1
    assert [grant.execution_id for grant in queue.transitions.admit(("letters",), 5).grants] == ["narrow-2"]
    assert exchange(queue, settlements[:1]).outcomes[0].code is Code.OK
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_a_damaged_lane_whose_closed_gates_are_to_be_looked_at_holds_back_no_other(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("tenant:*", 0)
    names = {lane: [f"{lane}-{number}" for number in range(30)] for lane in ("broken", "mail")}
    for lane, each in names.items():
        for name in each:
            park(queue, lane, name, gates=(f"tenant:{name}",))
    assert queue.transitions.admit(("broken", "mail"), 1).grants == []
    queue.controls.set_limit("tenant:*", 1)  # so many gates are looked at by the calls that follow, a few in each
    with damaged(redis_client, "gate:tenant:*:closed:broken"):
        answer = exchange(queue, [Release("unheard-of", 1, State.COMPLETED)], Next(("mail",), 30, LEASE_MS))
        assert [grant.execution_id for grant in answer.admission.grants] == names["mail"]
    granted = exchange(queue, [], Next(("broken",), 30, LEASE_MS)).admission.grants
    assert [grant.execution_id for grant in granted] == names["broken"]
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_who_asks_for_a_lane_that_fails_is_not_woken_for_it_at_once(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    park(queue, "broken", "held", gates=("gpu",))
    admitted(queue, "broken", count=1)
    queue.controls.set_limit("gpu", 5)
    park(queue, "broken", "waits", gates=("gpu",))
    redis_client.delete(queue.scripts.keys.wake("broken"))
    with damaged(redis_client, "gate:gpu:held"):
        answer = exchange(queue, [], Next(("broken",), 1, LEASE_MS))
        assert answer.failures
        assert redis_client.llen(queue.scripts.keys.wake("broken")) == 0
