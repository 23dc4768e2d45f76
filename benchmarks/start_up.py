"""Measures the time from starting a worker process to the start of its first job.

The job is already waiting. The figure includes the start of Python, the imports, Dramatiq's own boot and the first
fetch.
"""

import time

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig


def measure(rig: Rig, side: str) -> Measured:
    """Start a process for one job."""
    jobs = rig.jobs(side)
    jobs.count.send(0, 0)
    began = time.monotonic_ns()
    with rig.workers(side):
        (record,) = rig.wait_for_records(1)
    return {"to first job": (record.started_ns - began) / 1e6}


QUESTION = Question(
    name="start_up",
    asks="How long from a worker's start to its first job?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("to first job", "ms"),),
    measure=measure,
    targets=(Target(BANDMASTER, "to first job", at_most=1000),),
)
