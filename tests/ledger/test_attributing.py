"""A wait's parts equal what a naive replay finds, which asks at each millisecond for itself, and sum to the wait."""

from collections import Counter, defaultdict
from random import Random

import pytest

from bandmaster.ledger.waits.attributing import (
    HOLDERS,
    Bound,
    Cause,
    Closed,
    Hold,
    Part,
    Pause,
    Step,
    attributed,
    put_together,
    scaled,
)
from bandmaster.ledger.waits.spans import Span, common, joined, length_ms, without

WAIT = Span(100, 260)
LATEST = 300


def some_spans(random: Random, most: int) -> list[Span]:
    begun = [random.randrange(60, LATEST) for _ in range(random.randrange(most))]
    return [Span(since, since + random.choice([0, 1, 5, 60])) for since in begun]


def some_holds(random: Random) -> list[Hold]:
    holds: list[Hold] = []
    for number in range(random.randrange(14)):
        since_ms = random.randrange(60, LATEST)
        until_ms = random.choice([None, since_ms, since_ms + random.randrange(120)])
        holds.append(Hold(f"e-{number % 9}-{number}", since_ms, until_ms))
    return holds


def some_limits(random: Random) -> list[Step[int]]:
    times = sorted(random.randrange(100, LATEST) for _ in range(random.randrange(4)))
    return [Step(at_ms, random.choice([None, 0, 1, 2, 3])) for at_ms in [random.choice([0, 100]), *times]]


def naive(
    wait: Span, due_ms: int | None, pauses: list[Pause], rates: list[Closed], bounds: list[Bound]
) -> tuple[Counter[tuple[Cause, str]], dict[str, Counter[str]]]:
    """How many milliseconds of each cause, and how many each holder had in them, by asking at each."""
    found, held = Counter[tuple[Cause, str]](), defaultdict[str, Counter[str]](Counter)
    for now_ms in range(wait.since_ms, wait.until_ms):
        cause = (Cause.THREAD, "")
        paused = [each.name for each in pauses if any(a <= now_ms < b for a, b in each.spans)]
        if due_ms is not None and now_ms < due_ms:
            cause = (Cause.DELAY, "")
        elif paused:
            cause = (Cause.PAUSE, paused[0])
        elif closed := [each.name for each in rates if any(a <= now_ms < b for a, b in each.spans)]:
            cause = (Cause.RATE, closed[0])
        else:
            for bound in bounds:
                limit = [step.value for step in bound.limits if step.at_ms <= now_ms][-1]
                inside = [
                    h for h in bound.holds if h.since_ms <= now_ms and (h.until_ms is None or now_ms < h.until_ms)
                ]
                if limit is not None and len(inside) >= limit:
                    cause = (bound.cause, bound.name)
                    held[bound.name].update(each.execution_id for each in inside)
                    break
        found[cause] += 1
    return found, held


def test_a_wait_is_attributed_as_a_naive_replay_does() -> None:
    both = {seed: both_of(Random(seed)) for seed in range(300)}
    assert {seed: each for seed, each in both.items() if each[0] != each[1]} == {}


Found = tuple[dict[tuple[Cause, str], int], dict[str, tuple[int, list[tuple[str, int]]]]]
"""The milliseconds of each cause; and of each gate, lane or all, how many held it and who did longest."""


def both_of(random: Random) -> tuple[Found, Found]:
    """What is found of a random wait, and what a naive replay finds."""
    due_ms = random.choice([None, 90, 130, LATEST])
    pauses = [Pause(name, some_spans(random, 4)) for name in ("*", "lane:mail", "action:a")]
    rates = [Closed(name, joined(some_spans(random, 3))) for name in ("action:a", "g")]
    bounds = [Bound(Cause.GATE, name, some_limits(random), some_holds(random)) for name in ("action:a", "user:u", "g")]
    bounds += [Bound(Cause.LANE, "mail", some_limits(random), some_holds(random))]
    bounds += [Bound(Cause.EVERYTHING, "", some_limits(random), some_holds(random))]

    parts = attributed(WAIT, due_ms, pauses, rates, bounds)
    causes, held = naive(WAIT, due_ms, pauses, rates, bounds)

    assert sum(part.ms for part in parts) == WAIT.length_ms
    assert len(parts) == len(causes)
    behind = [part for part in parts if part.cause in (Cause.GATE, Cause.LANE, Cause.EVERYTHING)]
    holders = {
        part.name: (part.holder_count, [(each.execution_id, each.ms) for each in part.holders]) for part in behind
    }
    longest = {
        part.name: (
            len(held[part.name]),
            sorted(held[part.name].items(), key=lambda each: (-each[1], each[0]))[:HOLDERS],
        )
        for part in behind
    }
    return ({(part.cause, part.name): part.ms for part in parts}, holders), (dict(causes), longest)


def test_all_causes_come_up() -> None:
    seen = Counter[Cause]()
    for seed in range(300):
        random = Random(seed)
        pauses = [Pause("*", some_spans(random, 4))]
        rates = [Closed("a", joined(some_spans(random, 3)))]
        bounds = [Bound(cause, cause, some_limits(random), some_holds(random)) for cause in (Cause.GATE, Cause.LANE)]
        bounds.append(Bound(Cause.EVERYTHING, "", some_limits(random), some_holds(random)))
        seen.update(part.cause for part in attributed(WAIT, 110, pauses, rates, bounds))
    assert set(seen) == set(Cause)
    assert min(seen.values()) > 20


def test_no_wait_has_no_parts() -> None:
    assert attributed(Span(5, 5), 9, [], [], []) == []


def milliseconds(spans: list[Span]) -> set[int]:
    return {ms for span in spans for ms in range(*span)}


def test_spans_are_sets_of_milliseconds() -> None:
    for seed in range(50):
        random = Random(seed)
        one, other = joined(some_spans(random, 6)), joined(some_spans(random, 6))
        assert milliseconds(common(one, other)) == milliseconds(one) & milliseconds(other), seed
        assert milliseconds(without(one, other)) == milliseconds(one) - milliseconds(other), seed
        assert length_ms(without(one, other)) == len(milliseconds(one) - milliseconds(other)), seed


@pytest.mark.parametrize("ms", [1, 7, 100, 99_999])
def test_a_sample_is_scaled_to_the_millisecond(ms: int) -> None:
    parts = [Part(Cause.GATE, "a", 3), Part(Cause.PAUSE, "*", 11), Part(Cause.THREAD, "", 1)]
    found = scaled(parts, ms)
    assert sum(part.ms for part in found) == ms
    for part in found:
        whole = next(each for each in parts if each.cause is part.cause)
        assert abs(part.ms - ms * whole.ms / 15) <= 1


def test_parts_of_one_cause_are_put_together_the_longest_first() -> None:
    parts = [Part(Cause.THREAD, "", 2), Part(Cause.GATE, "g", 5), Part(Cause.THREAD, "", 4), Part(Cause.GATE, "h", 1)]
    assert [(part.name, part.ms) for part in put_together(parts)] == [("", 6), ("g", 5), ("h", 1)]
