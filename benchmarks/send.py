"""Measures how many messages one thread sends per second, one by one.

Only this process sends, and no worker consumes meanwhile. The figure includes everything that `send` does: building the
message, encoding it, the round trip, the checks; for Bandmaster the duplicate guard, limits, indexes and journal too.
"""

import time

from .question import BANDMASTER, BARE, Figure, Measured, Question, Target
from .rig import Rig


def measure(rig: Rig, side: str) -> Measured:
    """Send messages, after a few unmeasured ones that open connections and load scripts."""
    jobs, count = rig.jobs(side), rig.sized(50, 1000, 5000)
    for number in range(20):
        jobs.count.send(number, 0)
    began = time.perf_counter()
    for number in range(count):
        jobs.count.send(number, 0)
    return {"sent": count / (time.perf_counter() - began)}


QUESTION = Question(
    name="send",
    asks="How many messages a second does one thread send, one by one?",
    sides=(BARE, BANDMASTER),
    figures=(Figure("sent", "1/s", charted=True),),
    measure=measure,
    targets=(Target(BANDMASTER, "sent", at_least=0.9, of_side=BARE),),
)
