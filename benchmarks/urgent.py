"""Measures how long an urgent job waits behind 5,000 jobs of 5 ms, on 8 threads (limit 8).

Urgent jobs are sent one at a time while the others run. Bare Dramatiq has a priority that orders only the messages that
a worker has fetched, and as a workaround a separate queue for urgent jobs; Bandmaster has bands.
"""

import time

from .bare_jobs import URGENT_QUEUE, BareJobs
from .gated_jobs import GatedJobs
from .jobs import Jobs
from .order import latency_ms, percentile
from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import QUEUE, Rig

OWN_QUEUE = ", own queue"
URGENT_FROM = 10**6
"""Jobs with numbers from here on are urgent."""
PAUSE_SECONDS = 0.05
SLOTS = 8


def measure(rig: Rig, side: str) -> Measured:
    """Send the urgent jobs while the others run."""
    jobs = rig.jobs(side)
    count, urgent = rig.sized(100, 600, 5000), rig.sized(2, 5, 30)
    if isinstance(jobs, GatedJobs):
        jobs.controls.change_setting("max_concurrent_executions", SLOTS)
    jobs.fill(jobs.nap.message(number, 0) for number in range(count))
    with rig.workers(side, threads=SLOTS, queues=(QUEUE, URGENT_QUEUE) if side.endswith(OWN_QUEUE) else (QUEUE,)):
        rig.wait_for_records(count // 20)
        for number in range(urgent):
            _send_urgent(jobs, side, URGENT_FROM + number)
            time.sleep(PAUSE_SECONDS)
        records = rig.wait_for_records(count + urgent)
    latencies = latency_ms([record for record in records if record.number >= URGENT_FROM])
    return {"p50": percentile(latencies, 50), "longest": max(latencies)}


def _send_urgent(jobs: Jobs, side: str, number: int) -> None:
    arguments = (number, time.monotonic_ns())
    if isinstance(jobs, BareJobs):
        (jobs.urgent_own_queue if side.endswith(OWN_QUEUE) else jobs.urgent).send(*arguments)
    else:
        jobs.nap.send_with_options(args=arguments, band="CRITICAL")


QUESTION = Question(
    name="urgent",
    asks="How long does one urgent job wait behind 5,000 of 5 ms, limit 8, 8 threads?",
    sides=(BARE, BARE + OWN_QUEUE, BANDMASTER),
    figures=(Figure("p50", "ms", charted=True), Figure("longest", "ms")),
    measure=measure,
    targets=(Target(BANDMASTER, "p50", at_most=3),),
)
