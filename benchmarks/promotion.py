"""Measures how late what is due begins to wait: from its due time to its promotion, both by the server's clock.

Messages are sent a few at a time with random delays of 0.1 to 1.5 s, so that often one is due before all that whoever
promotes has heard of. On one side a worker is idle, on the next all of its threads are taken for long; then there is no
worker at all, and only the leader lives; on the last one the worker is saturated, and there is a leader. How late comes
from the journal, in whole milliseconds.
"""

import random
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Final

from bandmaster.configs.sources import variable_of
from bandmaster.scheduler.engine.journal import Verb

from .gated_jobs import GatedJobs
from .order import percentile
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import QUEUE, Rig

IDLE: Final = BANDMASTER
SATURATED: Final = "saturated worker"
LEADER: Final = "leader alone"
BOTH: Final = "saturated worker and leader"
THREADS: Final = 2
SEED: Final = 7
"""The seed of delays and pauses: they are the same in every run."""


def measure(rig: Rig, side: str) -> Measured:
    """Send with delays, and read the journal once all are promoted."""
    jobs = GatedJobs(rig.url)
    count = rig.sized(5, 30, 300)
    with _running(rig, side, jobs):
        chance = random.Random(SEED)
        for number in range(count):
            jobs.count.send_with_options(args=(number, 0), delay=chance.randint(100, 1_500))
            time.sleep(chance.uniform(0.0, 0.1))
        rig.wait_until(lambda: len(_late_ms(jobs)) >= count, f"{count} promotions")
    late_ms = _late_ms(jobs)
    jobs.banded.close()
    return {"p50": percentile(late_ms, 50), "p99": percentile(late_ms, 99), "longest": max(late_ms)}


@contextmanager
def _running(rig: Rig, side: str, jobs: GatedJobs) -> Generator[None]:
    lane = jobs.banded.queue.on(QUEUE)
    with ExitStack() as stack:
        if side in (LEADER, BOTH):
            environment = {variable_of("redis", "url"): rig.url}
            stack.enter_context(rig.process("bandmaster.scheduler", environment=environment))
            rig.wait_until(lambda: jobs.banded.queue.views.leader() is not None, "an election")
        if side != LEADER:
            stack.enter_context(rig.workers(BANDMASTER, threads=THREADS))
            if side == IDLE:
                rig.warm_up(jobs)
            else:
                for _ in range(THREADS):
                    jobs.hold.send()
                rig.wait_until(lambda: lane.views.status().active_count == THREADS, "a worker")
        yield


def _late_ms(jobs: GatedJobs) -> list[float]:
    entries = [each for each in jobs.banded.queue.journal.entries() if each.verb == Verb.PROMOTE]
    return [float(each.at_ms - int(each.fields["due"])) for each in entries]


QUESTION = Question(
    name="promotion",
    asks="How late after its due time does a scheduled job begin to wait?",
    sides=(IDLE, SATURATED, LEADER, BOTH),
    figures=(Figure("p50", "ms"), Figure("p99", "ms"), Figure("longest", "ms")),
    measure=measure,
    targets=tuple(Target(side, "p99", at_most=50) for side in (IDLE, SATURATED, LEADER, BOTH)),
)
