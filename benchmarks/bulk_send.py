"""Measures how many messages one thread sends per second in bulk.

Dramatiq has no bulk send, so its side sends one by one. Bandmaster's `send_many` checks each message separately and
parks a hundred in a round trip.
"""

import time

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig


def measure(rig: Rig, side: str) -> Measured:
    """Send all messages; the time to build them counts, as it does in `send`."""
    jobs, count = rig.jobs(side), rig.sized(200, 2000, 20_000)
    jobs.fill([jobs.count.message(number, 0) for number in range(20)])
    began = time.perf_counter()
    jobs.fill(jobs.count.message(number, 0) for number in range(count))
    return {"sent": count / (time.perf_counter() - began)}


QUESTION = Question(
    name="bulk_send",
    asks="How many messages a second does one thread send in bulk?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("sent", "1/s", charted=True),),
    measure=measure,
    targets=(Target(BANDMASTER, "sent", at_least=15_000),),
)
