"""Priorities: read from what people write, and scores that keep their band for ever (D1, D43)."""

from datetime import UTC, datetime
from typing import cast

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority

FIVE_YEARS_MS = 5 * 365 * 86_400_000
EARLY, NOW, LATE = (int(datetime(year, 6, 1, tzinfo=UTC).timestamp() * 1000) for year in (2024, 2026, 2050))
"""Nothing waits or is scheduled further from now than from the first to the last."""


def test_the_lower_number_starts_first() -> None:
    assert [(member.name, int(member)) for member in sorted(Priority)] == [
        ("CRITICAL", 0),
        ("HIGH", 1),
        ("NORMAL", 2),
        ("LOW", 3),
        ("BACKGROUND", 4),
    ]


def test_a_priority_is_read_from_member_name_or_band(subtests: pytest.Subtests) -> None:
    for value in [Priority.HIGH, "HIGH", "high", "High", 1]:
        with subtests.test(value=value):
            assert Priority.parse(value) is Priority.HIGH


NO_PRIORITIES: tuple[object, ...] = (
    "urgent",
    "",
    "1",
    " HIGH",
    "parse",
    5,
    -1,
    True,
    1.0,
    None,
    [],
    "x" * 1_000_000,
)


def test_what_is_no_priority_is_refused_with_the_names_that_are(subtests: pytest.Subtests) -> None:
    for value in NO_PRIORITIES:
        with subtests.test(value=value):
            with pytest.raises(
                InvalidRequest, match=r"priority: .* is not a priority(; HIGH is meant, perhaps)?; allowed: CRITICAL"
            ) as caught:
                Priority.parse(value)
            assert len(str(caught.value)) < 300


def scores(client: redis.Redis) -> dict[str, float]:
    """What waits, first what starts first."""
    found = cast("list[tuple[bytes, float]]", client.zrange("exec_queue:pending", 0, -1, withscores=True))
    return {name.decode(): score for name, score in found}


def send(queue: TurnedQueue, at_ms: int, *bands: Priority) -> None:
    """Let one wait in each of these bands, named by it and the time."""
    queue.clock.turn(at_ms - queue.clock.now_ms)
    candidates = [Candidate(f"{band.name}-{at_ms}", "executions", int(band), "send", message=b"x") for band in bands]
    queue.transitions.park_many(candidates)


def test_the_score_is_the_formula_of_the_contract(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    for at_ms in (EARLY, NOW, LATE):
        send(queue, at_ms, *Priority)
        given = [scores(redis_client)[f"{band.name}-{at_ms}"] for band in Priority]
        assert [int(score) for score in given] == [band * 10**12 + at_ms for band in Priority]
        # 1/1024 ms tell apart what came within one millisecond, and leave the whole part alone.
        assert [score % 1 for score in given] == [number / 1024 for number in range(len(Priority))]


def test_the_band_decides_before_the_time(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    for at_ms in (EARLY, NOW, LATE):
        send(queue, at_ms, *reversed(Priority))
    assert list(scores(redis_client)) == [f"{band.name}-{at}" for band in Priority for at in (EARLY, NOW, LATE)]


@pytest.mark.parametrize("now_ms", [EARLY, NOW, LATE])
@pytest.mark.parametrize("later_ms", [-FIVE_YEARS_MS, 0, FIVE_YEARS_MS])
def test_what_waits_is_counted_in_its_own_band_however_long_it_has(
    now_ms: int, later_ms: int, redis_client: redis.Redis
) -> None:
    queue = TurnedQueue(redis_client)
    send(queue, now_ms, *Priority)
    queue.clock.turn(later_ms)
    assert queue.get_pending_by_priority() == {band.name: 1 for band in Priority}
