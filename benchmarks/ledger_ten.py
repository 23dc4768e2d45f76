"""Measures how fast 10,000 executions of no work pass the queue ten at a time, from parking to release.

One thread calls the queue's scripts; there is no worker. The document that asked for the ledger's table of actions
measured 500 a second at this concurrency.
"""

import time

from .engine import LANE, Engine
from .ledgers import ON_POSTGRESQL, ON_SQLITE, wait_until_written, written
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

CONCURRENCY = 10


def measure(rig: Rig, side: str) -> Measured:
    """Park them, then admit and release until all have ended."""
    engine, count = Engine(rig.client), rig.sized(100, 1000, 10_000)
    engine.controls.change_setting("max_concurrent_executions", CONCURRENCY, lane=LANE)
    with written(rig, side) as database:
        began = time.perf_counter()
        engine.fill(count)
        grants = engine.admit(CONCURRENCY)
        ended = 0
        while grants:
            grant = grants.pop()
            grants += engine.release(grant, following=1)
            ended += 1
        seconds = time.perf_counter() - began
        if database is not None:
            wait_until_written(rig, database)
    if ended != count:
        raise RuntimeError(f"{ended} of {count} executions have ended")
    return {"passed": count / seconds}


QUESTION = Question(
    name="ledger_ten",
    asks="How many executions of no work a second pass the queue ten at a time, with a ledger?",
    sides=(BANDMASTER, ON_SQLITE, ON_POSTGRESQL),
    figures=(Figure("passed", "1/s"),),
    measure=measure,
    targets=(Target(ON_SQLITE, "passed", at_least=3_000), Target(ON_POSTGRESQL, "passed", at_least=3_000)),
)
