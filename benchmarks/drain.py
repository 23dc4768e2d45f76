"""Measures how fast one and two worker processes of 8 threads empty a queue of 10,000 jobs, with no limit reached.

The queue is full before the workers start. A tenth more jobs are sent than measured, since jobs that run while the
workers boot do not count.
"""

from .order import per_second
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

TWO = ", 2 processes"


def measure(rig: Rig, side: str) -> Measured:
    """Fill the queue, start the workers, wait until all jobs have run."""
    jobs, count = rig.jobs(side), rig.sized(100, 1500, 10_000)
    warming = count // 10
    jobs.fill(jobs.count.message(number, 0) for number in range(warming + count))
    with rig.workers(side, processes=2 if side.endswith(TWO) else 1):
        records = rig.wait_for_records(warming + count)
    return {"drained": per_second(records[warming:])}


QUESTION = Question(
    name="drain",
    asks="How many waiting jobs a second do 8 threads run, one INCR each, no limit in the way?",
    sides=(BARE, BANDMASTER, BARE + TWO, BANDMASTER + TWO),
    figures=(Figure("drained", "1/s", charted=True),),
    measure=measure,
    targets=(
        Target(BANDMASTER, "drained", at_least=0.95, of_side=BARE),
        Target(BANDMASTER + TWO, "drained", at_least=1.7, of_side=BANDMASTER),
    ),
)
