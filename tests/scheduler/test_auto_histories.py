"""Limits that adjust themselves, on random histories: each is the one that the rule gives, said once more naively."""

import math
import random
from dataclasses import dataclass, field
from statistics import geometric_mean

import pytest
import redis
from auto_gate import AutoGate
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.model.states import State

LEAST, MOST = 2, 12
SOON, CHECKED, HISTORIES = 2, 4, 12
"""How many are played before each commit, in each check, and each night."""


@dataclass
class Naive:
    """The rule, from lists of all that was seen in a window."""

    now_ms: int
    limit: int = LEAST
    lowered_ms: int = 0
    usual: float | None = None
    lowered_for: float | None = None
    began_ms: int = 0
    held: list[int] = field(default_factory=list[int])
    full: bool = False
    failed: list[bool] = field(default_factory=list[bool])
    times: list[int] = field(default_factory=list[int])

    def begin(self) -> None:
        """The next window."""
        self.began_ms, self.full = self.now_ms, False
        self.held, self.failed, self.times = [], [], []

    def end(self, *, granted_ms: int, failed: bool, held: int, waits: bool) -> None:
        """One attempt."""
        self.held.append(held)
        self.full = self.full or (held >= self.limit and waits)
        if granted_ms > self.lowered_ms:
            self.failed.append(failed)
            if not failed:
                self.times.append(self.now_ms - granted_ms + 10)
        ran = min(self.limit, max(self.held))
        if len(self.failed) >= max(10, ran) and self.now_ms - self.began_ms >= 1_000:
            self.decide(ran)
            self.begin()

    def decide(self, ran: int) -> None:
        """What the window says."""
        ratio, mean = 1.0, None
        if len(self.times) >= 5:
            mean = geometric_mean(self.times)
            in_vain = self.lowered_for is not None and mean > 0.85 * self.lowered_for
            at_least = self.usual is not None and self.limit == LEAST and mean > 2 * self.usual
            if self.usual is None or in_vain or at_least:
                self.usual = mean
            ratio = mean / self.usual
            self.usual *= ratio ** (0.5 if ratio < 1 else 0.001)
            self.lowered_for = None
        share = sum(self.failed) / len(self.failed)
        if share > 0.1 or ratio > 2:
            lower = max(LEAST, min(self.limit - 1, math.floor(0.7 * ran)))
            if share <= 0.1:
                self.lowered_for = mean
            if lower < self.limit:
                self.lowered_ms = self.now_ms
            self.limit = lower
        elif self.full and share <= 0.05 and ratio <= 1.5:
            self.limit = min(MOST, self.limit + 1)


@pytest.mark.parametrize(
    "seed",
    [
        *range(SOON),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(SOON, CHECKED)),
        *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(CHECKED, HISTORIES)),
    ],
)
def test_each_limit_is_the_one_that_the_rule_gives(seed: int, redis_client: redis.Redis) -> None:
    chances = random.Random(seed)
    gate = AutoGate(redis_client, LEAST, MOST)
    naive = Naive(gate.queue.clock.now_ms)
    naive.begin()
    granted: dict[str, int] = {}
    limits: set[int] = set()
    failing, pace_ms, most_waiting = 0.0, 100, 40
    for _ in range(600):
        if chances.random() < 0.02:
            failing = chances.choice((0.0, 0.0, 0.02, 0.08, 0.4))
            pace_ms = chances.choice((30, 100, 100, 400, 1_000))
            most_waiting = chances.choice((1, 40, 40, 40))
        gate.send(max(0, most_waiting - gate.waiting()))
        known = set(gate.running)
        gate.start()
        now_ms = gate.queue.clock.now_ms
        granted |= {name: now_ms for name in gate.running if name not in known}
        gate.queue.clock.turn(chances.randint(1, pace_ms))
        if not gate.running:
            continue
        failed, (name, *_) = chances.random() < failing, gate.running
        naive.now_ms, held = gate.queue.clock.now_ms, len(gate.running)
        naive.end(granted_ms=granted[name], failed=failed, held=held, waits=gate.waiting() > 0)
        gate.end(State.FAILED if failed else State.COMPLETED)
        assert gate.limit == naive.limit, gate.told()[-1]
        limits.add(naive.limit)
    assert len(limits) > 2
    Invariants().check(read_dump(redis_client, gate.queue.scripts.keys))
