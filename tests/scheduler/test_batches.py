"""How much one call settles and grants."""

import pytest
import redis

from bandmaster.scheduler.engine.grants import Admission, Code, read_exchange
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.settlements import MOST_SETTLEMENTS, Release, Settlement
from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

MEBIBYTE = 1024 * 1024
MOST_BYTES = 4 * MEBIBYTE
LEASE_MS = 30_000
LANES = ("mail", "letters")


def park(queue: ExecutionQueueService, name: str, lane: str, size: int = 1) -> None:
    queue.transitions.park(Candidate(name, lane, 2, "send", message=b"x" * size))


def admit(queue: ExecutionQueueService, lanes: tuple[str, ...], *settlements: Settlement) -> Admission:
    call = queue.transitions.prepare_exchange(settlements, Next(lanes, 16, LEASE_MS))
    return read_exchange(call.run()).admission


@pytest.mark.parametrize("lanes", [LANES[:1], LANES], ids=["a lane", "lanes"])
@pytest.mark.parametrize("size", [MEBIBYTE, MEBIBYTE - 1, MEBIBYTE + 1], ids=["1 MiB", "less", "more"])
@pytest.mark.parametrize("settles", [False, True], ids=["asked", "settling"])
def test_a_call_grants_at_most_4_mib_of_payload_and_says_that_there_is_more(
    settles: bool, size: int, lanes: tuple[str, ...], redis_client: redis.Redis
) -> None:
    queue = ExecutionQueueService(redis_client)
    names = [f"x{number}" for number in range(16)]
    for number, name in enumerate(names):
        park(queue, name, lanes[number % len(lanes)], size)
    settlements = (Release("unheard-of", 1, State.COMPLETED),) if settles else ()
    granted: list[str] = []
    while len(granted) < len(names):
        admission = admit(queue, lanes, *settlements)
        assert sum(len(grant.message or b"") for grant in admission.grants) <= MOST_BYTES
        assert len(admission.grants) == min(MOST_BYTES // size, len(names) - len(granted))
        granted += [grant.execution_id for grant in admission.grants]
        assert admission.more or len(granted) == len(names)
    assert granted == names
    assert not admit(queue, lanes, *settlements).more


def test_one_payload_that_is_larger_goes_alone(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    for name, size in {"small": 1, "large": MOST_BYTES + 1, "after": 1}.items():
        park(queue, name, "mail", size)
    granted = [admit(queue, ("mail",)) for _ in range(3)]
    assert [[grant.execution_id for grant in each.grants] for each in granted] == [["small"], ["large"], ["after"]]
    assert [each.more for each in granted] == [True, True, False]


def test_as_many_as_a_call_may_have_are_settled_and_granted_in_one(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    names = [f"x{number}" for number in range(2 * MOST_SETTLEMENTS)]
    for number, name in enumerate(names):
        park(queue, name, LANES[number % 2])
    queue.controls.change_setting("max_concurrent", MOST_SETTLEMENTS)
    ended = queue.transitions.admit(LANES, MOST_SETTLEMENTS, lease_ms=LEASE_MS).grants
    assert [grant.execution_id for grant in ended] == names[:MOST_SETTLEMENTS]
    settlements = [Release(each.execution_id, each.attempt, State.COMPLETED, each.nonce) for each in ended]
    following = Next(LANES, MOST_SETTLEMENTS, LEASE_MS)
    answer = read_exchange(queue.transitions.prepare_exchange(settlements, following).run())
    assert {(outcome.code, outcome.state) for outcome in answer.outcomes} == {(Code.OK, State.COMPLETED)}
    assert len(answer.outcomes) == MOST_SETTLEMENTS
    assert [grant.execution_id for grant in answer.admission.grants] == names[MOST_SETTLEMENTS:]
    assert not answer.admission.more
