"""Measures what a ledger costs work that comes at a steady rate: 1,000 jobs a second, to one worker of 8 threads.

What is sent in a second is sent in twenty batches. If the worker keeps up, it runs as many as are sent, ledger or not;
how long each waits for its start says whether it was disturbed.
"""

import time

from .ledgers import ON_POSTGRESQL, ON_SQLITE, wait_until_written, written
from .order import latency_ms, per_second, percentile
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

OFFERED_A_SECOND = 1_000
BATCHES_A_SECOND = 20


def measure(rig: Rig, side: str) -> Measured:
    """Send at the rate while the worker runs."""
    jobs, seconds = rig.jobs(BANDMASTER), rig.sized(1, 2, 15)
    size = OFFERED_A_SECOND // BATCHES_A_SECOND
    with written(rig, side) as database, rig.workers(BANDMASTER):
        rig.warm_up(jobs)
        began = time.monotonic()
        for batch in range(seconds * BATCHES_A_SECOND):
            # The rate is what is asked about: each batch has its time.
            time.sleep(max(0.0, began + batch / BATCHES_A_SECOND - time.monotonic()))
            sent_ns = time.monotonic_ns()
            jobs.fill(jobs.count.message(batch * size + number, sent_ns) for number in range(size))
        records = rig.wait_for_records(seconds * OFFERED_A_SECOND)
        if database is not None:
            wait_until_written(rig, database)
    return {"ran": per_second(records), "p50": percentile(latency_ms(records), 50)}


QUESTION = Question(
    name="ledger_offered",
    asks="Of 1,000 jobs a second that are sent, how many run while a ledger is written?",
    sides=(BANDMASTER, ON_SQLITE, ON_POSTGRESQL),
    figures=(Figure("ran", "1/s"), Figure("p50", "ms")),
    measure=measure,
    targets=(
        Target(ON_SQLITE, "ran", at_least=0.98, of_side=BANDMASTER),
        Target(ON_POSTGRESQL, "ran", at_least=0.98, of_side=BANDMASTER),
    ),
)
