"""Measures what a ledger costs a machine that is full: how fast 8 threads empty a queue of 10,000 jobs beside it.

Server, worker, ledger and its database share the machine's cores. `written` is how fast the ledger had all of the jobs'
entries, from the first job's start on: it may be behind when the last job ends.
"""

import time

from .ledgers import ON_POSTGRESQL, ON_SQLITE, wait_until_written, written
from .order import per_second
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig


def measure(rig: Rig, side: str) -> Measured:
    """Fill the queue, let the ledger read that, then start the worker."""
    jobs, count = rig.jobs(BANDMASTER), rig.sized(100, 1500, 10_000)
    warming = count // 10
    with written(rig, side) as database:
        jobs.fill(jobs.count.message(number, 0) for number in range(warming + count))
        if database is not None:
            wait_until_written(rig, database)
        with rig.workers(BANDMASTER):
            records = rig.wait_for_records(warming + count)
            ended = time.monotonic()
            figures = {"drained": per_second(records[warming:]), "behind": 0.0}
            if database is not None:
                wait_until_written(rig, database)
                figures["behind"] = time.monotonic() - ended
    return figures


QUESTION = Question(
    name="ledger_drain",
    asks="How many waiting jobs a second do 8 threads run while a ledger is written on the same machine?",
    sides=(BANDMASTER, ON_SQLITE, ON_POSTGRESQL),
    figures=(Figure("drained", "1/s"), Figure("behind", "s")),
    measure=measure,
    targets=(
        Target(ON_SQLITE, "drained", at_least=0.8, of_side=BANDMASTER),
        Target(ON_POSTGRESQL, "drained", at_least=0.7, of_side=BANDMASTER),
    ),
)
