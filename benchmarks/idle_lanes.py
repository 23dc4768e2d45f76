"""Measures the cost of an idle worker that consumes more lanes than it has threads.

MONITOR counts the commands of some seconds; the figure is per second and queue. Bandmaster asks for executions, and
waits to be woken, for all lanes of a process at once. Dramatiq's own consumers poll the list and the delay queue of
each queue, on Bandmaster's side too. The CPU time is the sum over all processes of the worker.
"""

import time

import psutil

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .records import worker_pids
from .rig import Rig
from .sent_commands import sent_commands

SIZES = {", 1 thread, 3 queues": (1, 3), ", 8 threads, 30 queues": (8, 30)}
FEW, MANY = SIZES
ASKING = ("FCALL", "BLPOP", "BLMOVE")
AT_MOST = 2


def measure(rig: Rig, side: str) -> Measured:
    """Run a job in each queue, and then measure the idle worker."""
    threads, lanes = next(size for name, size in SIZES.items() if side.endswith(name))
    jobs, seconds = rig.jobs(side), rig.sized(1, 2, 6)
    in_lanes = jobs.declare_lanes()[:lanes]
    with rig.workers(side, threads=threads, lanes=lanes):
        jobs.fill(job.message(number, 0) for number, job in enumerate(in_lanes))
        rig.wait_for_records(lanes)
        time.sleep(seconds)  # until the consumers have reached their longest polling interval
        (pid,) = worker_pids(rig.folder)
        worker = psutil.Process(pid)
        used, began = worker.cpu_times(), time.monotonic()
        with sent_commands(rig.client) as sent:
            time.sleep(seconds)
        passed, now = time.monotonic() - began, worker.cpu_times()
    asked = sum(sent.by_name[name] for name in ASKING)
    return {
        "asking": asked / passed / lanes,
        "all calls": sent.total / passed / lanes,
        "CPU": (now.user + now.system - used.user - used.system) / passed * 100,
    }


QUESTION = Question(
    name="idle_lanes",
    asks="What does an idle worker send a second and queue, and how much of a core does it use?",
    sides=tuple(name + size for size in SIZES for name in (BARE, BANDMASTER)),
    figures=(Figure("asking", "calls"), Figure("all calls", "calls"), Figure("CPU", "%")),
    measure=measure,
    targets=(
        Target(BANDMASTER + FEW, "asking", at_most=AT_MOST),
        Target(BANDMASTER + MANY, "asking", at_most=AT_MOST),
        Target(BANDMASTER + MANY, "all calls", at_most=1, of_side=BARE + MANY),
    ),
)
