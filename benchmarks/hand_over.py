"""Measures how long a slot is empty, from one body's end to the start of the next, while jobs wait for all slots.

There are 8 threads, 8 slots, and jobs of 5 ms. The figure includes everything in between: the after-hooks, the release,
the admission of the next job in the same call, the hand-over to a thread. Bare Dramatiq already has the next messages
in memory.
"""

from .gated_jobs import GatedJobs
from .order import hand_over_ms, percentile
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

SLOTS = 8


def measure(rig: Rig, side: str) -> Measured:
    """Run jobs of 5 ms through all slots; the first tenth does not count."""
    jobs, count = rig.jobs(side), rig.sized(60, 400, 2000)
    if isinstance(jobs, GatedJobs):
        jobs.controls.change_setting("max_concurrent_executions", SLOTS)
    jobs.fill(jobs.nap.message(number, 0) for number in range(count))
    with rig.workers(side, threads=SLOTS):
        records = rig.wait_for_records(count)
    # No jobs wait any more for the slots that the last jobs release.
    gaps = hand_over_ms(records, SLOTS)[count // 10 : -SLOTS]
    return {"p50": percentile(gaps, 50), "p99": percentile(gaps, 99)}


QUESTION = Question(
    name="hand_over",
    asks="How long from one body's end to the begin of the next on its slot, saturated?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("p50", "ms", charted=True), Figure("p99", "ms")),
    measure=measure,
    targets=(Target(BANDMASTER, "p50", at_most=2),),
)
