"""Measures whether a worker with 20 lanes keeps its 8 threads busy, with one busy lane and with twenty.

With jobs of 20 ms, the ideal is 400 a second. The queues are full before the worker starts. A tenth more jobs are sent
than measured, since jobs that run while the worker boots do not count.
"""

from itertools import cycle, islice

from .order import per_second
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

CONSUMED = 20
ONE_BUSY, ALL_BUSY = ", 1 busy of 20", ", 20 busy"


def measure(rig: Rig, side: str) -> Measured:
    """Fill the queues, start the worker, wait until all jobs have run."""
    jobs, count = rig.jobs(side), rig.sized(60, 200, 1200)
    in_lanes = jobs.declare_lanes()[:CONSUMED]
    busy = in_lanes if side.endswith(ALL_BUSY) else in_lanes[:1]
    warming = count // 10
    jobs.fill(job.message(number, 0) for number, job in enumerate(islice(cycle(busy), warming + count)))
    with rig.workers(side, lanes=CONSUMED if side.endswith((ONE_BUSY, ALL_BUSY)) else 1):
        records = rig.wait_for_records(warming + count)
    return {"drained": per_second(records[warming:])}


QUESTION = Question(
    name="many_lanes",
    asks="How many waiting jobs of 20 ms a second do 8 threads run, consuming 1 or 20 lanes?",
    sides=(BARE, BANDMASTER, BANDMASTER + ONE_BUSY, BANDMASTER + ALL_BUSY),
    figures=(Figure("drained", "1/s"),),
    measure=measure,
    targets=tuple(
        Target(BANDMASTER + busy, "drained", at_least=0.95, of_side=BANDMASTER) for busy in (ONE_BUSY, ALL_BUSY)
    ),
)
