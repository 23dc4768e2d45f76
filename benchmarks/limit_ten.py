"""Measures rate, concurrency and order of 2,000 jobs of 5 ms under a limit of 10, on two processes of 8 threads.

The ideal is 2,000 a second. Bare Dramatiq has `ConcurrentRateLimiter`: a job over the limit fails and is retried after
15 s or more, or, tuned, after 10 ms. On the last side each job passes three gates, of which one belongs to one of 1,000
tenants and admits one job at a time.
"""

import random

from .bare_jobs import BareJobs
from .gated_jobs import GatedJobs
from .jobs import LIMIT
from .order import displacements, most_at_once, per_second
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig

TUNED = ", tuned"
OVER_EVERYTHING = ", limit over everything"
THREE_GATES = ", 3 gates each, 1,000 tenants of limit 1"
TENANTS, REGIONS = 1000, 4
SEED = 7


def measure(rig: Rig, side: str) -> Measured:
    """Fill the queue, start the workers, wait until all jobs have run."""
    jobs, count = rig.jobs(side), rig.sized(60, 400, 2000)
    if isinstance(jobs, GatedJobs):
        _fill_gated(jobs, side, count)
    else:
        assert isinstance(jobs, BareJobs)
        limited = jobs.limited_tuned if side.endswith(TUNED) else jobs.limited
        jobs.fill(limited.message(number, 0) for number in range(count))
    with rig.workers(side, processes=2):
        records = rig.wait_for_records(count)
    moved = displacements(records)
    return {
        "per second": per_second(records),
        "at once": most_at_once(records),
        "furthest out of order": max(moved),
        "out of order by more than 10": sum(places > 10 for places in moved),
    }


def _fill_gated(jobs: GatedJobs, side: str, count: int) -> None:
    if side.endswith(THREE_GATES):
        pick = random.Random(SEED)
        jobs.controls.set_limit("everyone", LIMIT)
        for region in range(REGIONS):
            jobs.controls.set_limit(f"region:{region}", LIMIT)
        for tenant in range(TENANTS):
            jobs.controls.set_limit(f"tenant:{tenant}", 1)
        jobs.fill(
            jobs.in_gates.message(number, 0, pick.randrange(TENANTS), pick.randrange(REGIONS))
            for number in range(count)
        )
        return
    if side.endswith(OVER_EVERYTHING):
        jobs.controls.change_setting("max_concurrent", LIMIT)
    else:
        jobs.controls.set_limit("action:nap", LIMIT)
    jobs.fill(jobs.nap.message(number, 0) for number in range(count))


QUESTION = Question(
    name="limit_ten",
    asks="2,000 jobs of 5 ms under a limit of 10 on 2 × 8 threads: how many a second, and in order?",
    sides=(BARE + TUNED, BANDMASTER, BANDMASTER + OVER_EVERYTHING, BANDMASTER + THREE_GATES),
    figures=(
        Figure("per second", "1/s", charted=True),
        Figure("at once", "jobs"),
        Figure("furthest out of order", "places"),
        Figure("out of order by more than 10", "jobs"),
    ),
    measure=measure,
    targets=(
        Target(BANDMASTER, "per second", at_least=1300),
        Target(BANDMASTER, "at once", at_most=LIMIT),
        Target(BANDMASTER, "furthest out of order", at_most=10),
        Target(BANDMASTER + THREE_GATES, "per second", at_least=0.7, of_side=BANDMASTER),
        Target(BANDMASTER + THREE_GATES, "at once", at_most=LIMIT),
    ),
)
