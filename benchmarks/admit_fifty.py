"""Measures the server's cost of an execution when one call admits 50, compared with a simple script that admits one."""

from .engine import Engine
from .question import BANDMASTER, SIMPLE, Figure, Measured, Question, Target
from .rig import Rig
from .server_time import EVALSHA, FCALL, server_time
from .simple_queue import SimpleQueue

AT_A_TIME = 50


def measure(rig: Rig, side: str) -> Measured:
    """Admit all, with as many per call as the side can."""
    calls = rig.sized(2, 10, 100)
    wanted = calls * AT_A_TIME
    if side == SIMPLE:
        queue = SimpleQueue(rig.client)
        for number in range(wanted):
            queue.enqueue(f"execution-{number}", 2, {})
        with server_time(rig.client) as spent:
            for _ in range(wanted):
                queue.try_schedule(10**8)
    else:
        engine = Engine(rig.client)
        engine.fill(wanted)
        with server_time(rig.client) as spent:
            admitted = sum(len(engine.admit(AT_A_TIME)) for _ in range(calls))
        assert admitted == wanted
    return {"an execution": spent.usec[EVALSHA if side == SIMPLE else FCALL] / wanted}


QUESTION = Question(
    name="admit_fifty",
    asks="What does each of 50 executions admitted in one call cost on the server?",
    sides=(SIMPLE, BANDMASTER),
    figures=(Figure("an execution", "µs"),),
    measure=measure,
    targets=(Target(BANDMASTER, "an execution", at_most=1.2, of_side=SIMPLE),),
)
