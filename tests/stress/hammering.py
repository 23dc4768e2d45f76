"""One process of the hammer: eight threads that park, admit, settle, retry and cancel until nothing is left.

Each thread draws from its own seed what it does next; what it can do is decided by the others. A thread that finds
nothing to start waits on the wake list as a consumer does. The number of steps is bounded, so a queue that hangs fails.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import redis

from bandmaster.scheduler.engine.grants import Grant, Settled, read_settled
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Candidate, Next, Transitions
from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.scripts import Scripts

THREADS = 8
LANES = ("executions", "mail")
GATES = ("tenant:1", "tenant:2", "gpu")
USERS = ("", "ann", "bob", "cleo")
LEASE_MS = 60_000
MAX_STEPS = 20_000
MAX_ATTEMPTS = 3
IDLE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """What one process is to do."""

    url: str
    number: int
    to_park: int
    """Executions that each of its threads parks."""


def hammer(job: Job) -> list[tuple[str, int]]:
    """Every grant that this process was given, as (id, attempt)."""
    with redis.Redis.from_url(job.url) as client:
        with ThreadPoolExecutor(THREADS) as threads:
            given = [threads.submit(Thread(client, job, number).run) for number in range(THREADS)]
        return [grant for one in given for grant in one.result()]


class Thread:
    """One thread's work."""

    def __init__(self, client: redis.Redis, job: Job, number: int) -> None:
        self._client = client
        self._keys = Keys()
        self._transitions = Transitions(Scripts(client))
        self._random = random.Random(job.number * THREADS + number)
        self._to_park = [f"p{job.number}-t{number}-{count}" for count in range(job.to_park)]
        self._parked: list[str] = []
        self._given: list[tuple[str, int]] = []

    def run(self) -> list[tuple[str, int]]:
        """Until every lane is empty, and nothing is left to park."""
        for _ in range(MAX_STEPS):
            if self._to_park and self._random.random() < 0.5:
                self._park()
            lane = self._random.choice(LANES)
            grants = self._transitions.admit(
                (lane,), self._random.randint(1, 3), lease_ms=LEASE_MS, consumer=True
            ).grants
            if not grants:
                if not self._to_park and self._is_drained():
                    return self._given
                self._client.blpop([self._keys.wake(lane)], timeout=IDLE_SECONDS)
            while grants:
                self._given += [(grant.execution_id, grant.attempt) for grant in grants]
                grants = [following for grant in grants for following in self._work(grant)]
        raise AssertionError(f"not drained after {MAX_STEPS} steps")

    def _is_drained(self) -> bool:
        return not any(self._client.scard(self._keys.members(lane)) for lane in LANES)

    def _park(self) -> None:
        draw = self._random
        count = draw.randint(1, 3)
        names, self._to_park = self._to_park[:count], self._to_park[count:]
        candidates = [
            Candidate(
                execution_id=name,
                lane=draw.choice(LANES),
                band=draw.randrange(5),
                action=draw.choice(("pod", "resize")),
                user_id=draw.choice(USERS) or None,
                gates=tuple(draw.sample(GATES, draw.randint(0, 2))),
                event=b"{}",
            )
            for name in names
        ]
        self._transitions.park_many(candidates)
        self._parked += names
        if draw.random() < 0.2:
            (again,) = self._transitions.park_many(candidates[:1])
            assert isinstance(again, DuplicateExecution)

    def _work(self, grant: Grant) -> list[Grant]:
        """Do one of many things under a grant; returns what was admitted with it."""
        draw, name, attempt = self._random, grant.execution_id, grant.attempt
        following = Next((draw.choice(LANES),), draw.randint(0, 2), LEASE_MS)
        what = draw.random()
        if what < 0.15 and attempt < MAX_ATTEMPTS:
            delay_ms = draw.choice((0, 0, 20))
            retry = Retry(name, attempt, "retry", delay_ms=delay_ms)
            call = self._transitions.prepare_exchange([retry], following)
            settled = read_settled(call.run())
            assert read_settled(call.run()).code == settled.code
            return settled.grants
        if what < 0.3:
            self._transitions.hand_over(name, attempt, "a-pod", f"uid-{name}-{attempt}")
        if what > 0.9 and self._parked:
            self._transitions.cancel(draw.choice(self._parked))
        if what > 0.8:
            self._transitions.reprioritise(draw.choice(self._parked or [name]), draw.randrange(5))
        if attempt > 1:
            stale = self._release(name, attempt - 1, Next())
            assert stale.code in ("STALE", "ENDED", "NOT_HELD")
        return self._release(name, attempt, following).grants

    def _release(self, name: str, attempt: int, following: Next) -> Settled:
        state = self._random.choice((State.COMPLETED, State.COMPLETED, State.FAILED))
        return self._transitions.release(name, attempt, state, following=following)
