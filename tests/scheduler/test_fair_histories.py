"""What a fair lane promises, on random histories: senders of many and of one at a time, cancels and closed gates."""

import random

import pytest
from fair_lane import LANE, queue, take
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.parking import Candidate

__all__ = ["queue"]

SOON, CHECKED, HISTORIES = 8, 16, 40
"""How many are played before each commit, in each check, and each night."""
STEPS = 150
KEYS = ("ann", "bob", "cyd", "dan")
CLOSED = "tenant:closed"


class History:
    """A random history, and what each key got while it and another had eligible waiters all the time."""

    def __init__(self, queue: TurnedQueue, seed: int) -> None:
        self.queue, self.random = queue, random.Random(seed)
        self.weights = {user: self.random.choice((1, 1, 2, 4)) for user in KEYS}
        self.one_at_a_time = {user for user in KEYS if self.random.random() < 0.4}
        self.waiting: dict[str, list[str]] = {user: [] for user in KEYS}
        self.accepted = 0
        self.got: dict[str, int] = dict.fromkeys(KEYS, 0)
        self.since: dict[tuple[str, str], tuple[int, int]] = {}
        self.worst = 0.0
        self.highest = 0.0
        self.is_open = True
        for user, weight in self.weights.items():
            queue.shares.weigh(f"user:{user}", weight)

    def send(self, user: str, count: int) -> None:
        names = [f"{user}-{self.accepted + number}" for number in range(count)]
        self.accepted += count
        gates = (CLOSED,) if user == KEYS[0] else ()
        self.queue.transitions.park_many(
            [Candidate(name, LANE, 2, "send_mail", user, gates, event=b"x") for name in names]
        )
        self.waiting[user] += names

    def step(self) -> None:
        for user in self.one_at_a_time:
            if not self.waiting[user]:
                self.send(user, 1)
        act = self.random.random()
        if act < 0.2:
            user = self.random.choice([user for user in KEYS if user not in self.one_at_a_time] or [KEYS[1]])
            self.send(user, self.random.randint(1, 12))
        elif act < 0.3:
            self.cancel()
        elif act < 0.35:
            self.turn_gate()
        else:
            self.admit()
        self.queue.clock.turn(self.random.choice((0, 1, 900, 5_000)))
        self.compare()

    def cancel(self) -> None:
        """All of a user's, which costs it nothing."""
        user = self.random.choice(KEYS)
        for name in self.waiting[user]:
            self.queue.cancel(name)
        self.waiting[user].clear()

    def turn_gate(self) -> None:
        """Of one user, whose waiters keep their tags meanwhile."""
        self.is_open = not self.is_open
        self.queue.controls.set_limit(CLOSED, None if self.is_open else 0)

    def has_caught_up(self) -> bool:
        """Whether no waiter of that user has a tag that others have passed while its gate was closed."""
        first = self.waiting[KEYS[0]][0]
        return float(self.queue.views.meta(first)["score"]) > self.highest

    def admit(self) -> None:
        for name in take(self.queue, self.random.randint(1, 3)):
            user = name.split("-")[0]
            assert self.waiting[user].pop(0) == name, "within a key, first in, first out"
            self.got[user] += 1
            self.highest = max(self.highest, float(self.queue.views.meta(name)["score"]))
            self.compare()

    def compare(self) -> None:
        eligible = {user for user in KEYS if self.waiting[user]}
        if KEYS[0] in eligible and not (self.is_open and self.has_caught_up()):
            eligible.remove(KEYS[0])
        for one in KEYS:
            for other in KEYS:
                pair = one, other
                if one >= other:
                    continue
                if not {one, other} <= eligible:
                    self.since.pop(pair, None)
                    continue
                began = self.since.setdefault(pair, (self.got[one], self.got[other]))
                work = [(self.got[user] - at) / self.weights[user] for user, at in zip(pair, began, strict=True)]
                self.worst = max(self.worst, abs(work[0] - work[1]))


@pytest.mark.parametrize(
    "seed",
    [
        *range(SOON),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(SOON, CHECKED)),
        *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(CHECKED, HISTORIES)),
    ],
)
def test_two_keys_with_work_never_differ_by_more_than_one_start_over_weight(queue: TurnedQueue, seed: int) -> None:
    history = History(queue, seed)
    for _ in range(STEPS):
        history.step()
    assert sum(history.got.values()) > STEPS / 4
    assert history.worst <= 1
