"""Measures the time from `send` to the start of the body on an idle worker.

Bare Dramatiq polls with a growing pause of up to a second, so its figure depends on how long it has been idle: sends
are 0.5 to 1 s apart. Bandmaster's consumer is woken: sends are 50 to 350 ms apart, so that there are enough values for
a 99th percentile. The same holds for huey's consumer: each of its eight threads waits in a blocking pop of its own, and
looks at no leases, limits or bands. The last side is what a machine needs to wake up for one message at all: one RPUSH
to a process that waits in BLPOP. Bandmaster wakes two threads: the one that admits, and the one that runs the body.
"""

import os
import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from .apps.pop import WAITED_FOR
from .order import latency_ms, percentile
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .records import FOLDER_VARIABLE, SERVER_VARIABLE
from .rig import Rig

HUEY = "huey"
ONE_WAKE_UP = "one RPUSH to one BLPOP"
SEED = 3
"""The seed of the pauses between sends: they are the same in every run."""
_THREADS: Final = ("--workers", "8", "--quiet")
_Send = Callable[[int, int], object]


def measure(rig: Rig, side: str) -> Measured:
    """Send with pauses, so that the worker is idle each time."""
    count = rig.sized(3, 4, 40) if side == BARE else rig.sized(5, 20, 150)
    low, high = (0.5, 1.0) if side == BARE else (0.05, 0.35)
    consumer, sender = _SIDES.get(side, (lambda rig: rig.workers(side), lambda rig: _sender(rig, side)))
    with consumer(rig):
        send = sender(rig)
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


def _sender_of_huey(rig: Rig) -> Callable[[int, int], object]:
    os.environ[SERVER_VARIABLE], os.environ[FOLDER_VARIABLE] = rig.url, str(rig.folder)  # as in its consumer
    from .apps.huey import count  # noqa: PLC0415  # which reads them when it is imported

    count(-1, 0)
    rig.wait_for_records(1)
    rig.forget_records()
    return count


_SIDES: Final[dict[str, tuple[Callable[[Rig], AbstractContextManager[None]], Callable[[Rig], _Send]]]] = {
    ONE_WAKE_UP: (lambda rig: rig.process("benchmarks.apps.pop"), _pusher),
    HUEY: (lambda rig: rig.process("huey.bin.huey_consumer", "benchmarks.apps.huey.huey", *_THREADS), _sender_of_huey),
}
"""What consumes, and what sends, where it is no broker of Dramatiq's."""

QUESTION = Question(
    name="idle_latency",
    asks="How long from send to start on an idle worker?",
    sides=(BARE, BANDMASTER, HUEY, ONE_WAKE_UP),
    figures=(Figure("p50", "ms", charted=True), Figure("p99", "ms")),
    measure=measure,
    targets=(
        Target(BANDMASTER, "p50", at_most=1.5),
        Target(BANDMASTER, "p50", at_most=1.5, of_side=HUEY),
        Target(BANDMASTER, "p99", at_most=6),
    ),
)
