"""Measures whether a worker process grows while it runs many jobs.

Its resident memory is sampled all the time. The figure is the difference between the median over the jobs from 20 to
30 % and the median over the last tenth. `--size long` runs a million jobs. The queue is kept filled, but never long.
"""

from statistics import median

import psutil

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .records import count_records, worker_pids
from .rig import Rig

FLAT_MIB = 2.0
LONGEST_QUEUE = 5000
MIB = 1024 * 1024


def measure(rig: Rig, side: str) -> Measured:
    """Run the jobs, sending new ones as others end."""
    jobs, count = rig.jobs(side), rig.sized(300, 2000, 100_000, 1_000_000)
    seen: list[tuple[float, int]] = []
    sent = 0
    with rig.workers(side):
        rig.warm_up(jobs)
        (pid,) = worker_pids(rig.folder) or [0]
        worker = psutil.Process(pid)
        while (done := count_records(rig.folder)) < count:
            seen.append((done / count, worker.memory_info().rss))
            batch = min(count - sent, LONGEST_QUEUE - (sent - done))
            jobs.fill(jobs.count.message(number, 0) for number in range(sent, sent + batch))
            sent += batch
            most = min(count, done + LONGEST_QUEUE // 2)
            rig.wait_until(lambda most=most: count_records(rig.folder) >= most, f"{count} jobs")
        seen.append((1.0, worker.memory_info().rss))
    early = [rss for share, rss in seen if 0.2 <= share <= 0.3] or [seen[0][1]]
    late = [rss for share, rss in seen if share >= 0.9]
    return {"at the end": median(late) / MIB, "growth": (median(late) - median(early)) / MIB}


QUESTION = Question(
    name="worker_memory",
    asks="Does a worker process grow over many jobs?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("at the end", "MiB"), Figure("growth", "MiB")),
    measure=measure,
    targets=(Target(BANDMASTER, "growth", at_most=FLAT_MIB),),
    runs=1,
)
