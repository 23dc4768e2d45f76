"""Counts the round trips of `send`, and of a job's whole way through a busy worker.

MONITOR counts them; it shows clients' commands and scripts' commands separately. A job's way is fetch and settle; the
body of these jobs sends nothing. Bandmaster's release returns the next job, so a busy worker needs one round trip for
both.
"""

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig
from .sent_commands import sent_commands


def measure(rig: Rig, side: str) -> Measured:
    """Send jobs, then run them, and count the round trips of both."""
    jobs, count = rig.jobs(side), rig.sized(30, 200, 1000)
    jobs.nap.send(-1, 0)
    with sent_commands(rig.client) as sending:
        for number in range(count):
            jobs.nap.send(number, 0)
    with rig.workers(side):
        rig.wait_for_records(count // 10)
        with sent_commands(rig.client) as running:
            began = len(rig.records())
            rig.wait_for_records(count - count // 10)
            ended = len(rig.records())
    return {"a send": sending.total / count, "a job": running.total / max(1, ended - began)}


QUESTION = Question(
    name="round_trips",
    asks="How many round trips do a send and a job's fetch and settling take?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("a send", "calls"), Figure("a job", "calls")),
    measure=measure,
    targets=(Target(BANDMASTER, "a send", at_most=1.01), Target(BANDMASTER, "a job", at_most=2)),
    runs=1,
)
