"""Measures the time from `send` to the start of the body on an idle worker.

Bare Dramatiq polls with a growing pause of up to a second, so its figure depends on how long it has been idle: it gets
a message every 0.5 to 1 s. Bandmaster's consumer is woken: it gets a message every 50 to 350 ms, so that there are
enough values for a 99th percentile. The third side is the machine's minimum for one message: one RPUSH to a process
that waits in BLPOP. Bandmaster needs two such wake-ups: of the consumer that admits, and of the body's thread.
"""

import random
import time
from collections.abc import Callable

from .apps.pop import WAITED_FOR
from .order import latency_ms, percentile
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

ONE_WAKE_UP = "one RPUSH to one BLPOP"
SEED = 3
"""The seed of the pauses between sends: they are the same in every run."""


def measure(rig: Rig, side: str) -> Measured:
    """Send with pauses, so that the worker is idle each time."""
    count = rig.sized(3, 4, 40) if side == BARE else rig.sized(5, 20, 150)
    low, high = (0.5, 1.0) if side == BARE else (0.05, 0.35)
    consumer = rig.process("benchmarks.apps.pop") if side == ONE_WAKE_UP else rig.workers(side)
    with consumer:
        send = _pusher(rig) if side == ONE_WAKE_UP else _sender(rig, side)
        pause = random.Random(SEED)
        for number in range(count):
            time.sleep(pause.uniform(low, high))
            send(number, time.monotonic_ns())
        latencies = latency_ms(rig.wait_for_records(count))
    return {"p50": percentile(latencies, 50), "p99": percentile(latencies, 99)}


def _sender(rig: Rig, side: str) -> Callable[[int, int], object]:
    jobs = rig.jobs(side)
    rig.warm_up(jobs)
    return jobs.count.send


def _pusher(rig: Rig) -> Callable[[int, int], object]:
    def push(number: int, sent_ns: int) -> None:
        rig.client.rpush(WAITED_FOR, f"{number} {sent_ns}")

    push(-1, 0)
    rig.wait_for_records(1)
    rig.forget_records()
    return push


QUESTION = Question(
    name="idle_latency",
    asks="How long from send to start on an idle worker?",
    sides=(BARE, BANDMASTER, ONE_WAKE_UP),
    figures=(Figure("p50", "ms", charted=True), Figure("p99", "ms")),
    measure=measure,
    targets=(Target(BANDMASTER, "p50", at_most=1.5), Target(BANDMASTER, "p99", at_most=6)),
)
