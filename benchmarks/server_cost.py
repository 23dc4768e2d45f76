"""Measures the server's cost of park, admit and release, compared with a simple script.

The figure is `usec_per_call` from INFO commandstats, for one script at a time, with 1,000 other executions waiting. The
simple script only admits; the plain commands around it (event, release) are included in its `admit + release`.
"""

from .engine import Engine
from .question import BANDMASTER, SIMPLE, Figure, Measured, Question, Target
from .rig import Rig
from .server_time import EVALSHA, FCALL, script_usec, server_time
from .simple_queue import SimpleQueue

WAITING = 1000
EVENT: dict[str, object] = {"script": "print('hello')", "timeout_seconds": 60, "metadata": {"user_id": "ann"}}


def measure(rig: Rig, side: str) -> Measured:
    """Run each step so many times, one after the other."""
    calls = rig.sized(20, 300, 3000)
    return _measure_simple(rig, calls) if side == SIMPLE else _measure_engine(rig, calls)


def _measure_simple(rig: Rig, calls: int) -> Measured:
    queue = SimpleQueue(rig.client)
    for number in range(WAITING):
        queue.enqueue(f"first-{number}", 2, EVENT)
    with server_time(rig.client) as park:
        for number in range(calls):
            queue.enqueue(f"execution-{number}", 2, EVENT)
    admitted: list[str] = []
    with server_time(rig.client) as admit:
        for _ in range(calls):
            taken = queue.try_schedule(10**8)
            admitted += [taken[0]] if taken else []
    with server_time(rig.client) as release:
        for execution_id in admitted:
            queue.release(execution_id)
    steps = admit.per_call(EVALSHA, "get") + release.per_call("srem", "del")
    return {
        "park": park.per_call("zadd", "set", "zrank"),
        "admit": admit.per_call(EVALSHA),
        "admit + release": steps,
    }


def _measure_engine(rig: Rig, calls: int) -> Measured:
    engine = Engine(rig.client)
    engine.fill(WAITING)
    park = script_usec(rig.client, engine.park, calls)
    with server_time(rig.client) as admit:
        grants = [grant for _ in range(calls) for grant in engine.admit()]
    with server_time(rig.client) as release:
        for grant in grants:
            engine.release(grant)
    engine.fill(calls)
    (held,) = engine.admit()
    with server_time(rig.client) as both:
        for _ in range(calls):
            (held,) = engine.release(held, following=1)
    return {
        "park": park,
        "admit": admit.per_call(FCALL),
        "release": release.per_call(FCALL),
        "admit + release": admit.per_call(FCALL) + release.per_call(FCALL),
        "release that admits": both.per_call(FCALL),
    }


QUESTION = Question(
    name="server_cost",
    asks="What do park, admit and release cost on the server?",
    sides=(SIMPLE, BANDMASTER),
    figures=tuple(
        Figure(name, "µs") for name in ("park", "admit", "release", "admit + release", "release that admits")
    ),
    measure=measure,
    targets=(Target(BANDMASTER, "admit + release", at_most=3, of_side=SIMPLE, of_figure="admit"),),
)
