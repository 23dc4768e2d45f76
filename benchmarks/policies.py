"""Measures what a rate, a fair lane, a unique key and ageing add to what an execution costs the server.

Each execution is parked, admitted and released by a call of its own while 1,000 others wait; its cost is the server's
time in these three calls. The rate lets each one through, and the users take turns as they come.
"""

from dataclasses import replace
from typing import Final

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.engine.shares import Shares
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.model.unique import Conflict, UniqueKey, Until
from bandmaster.scheduler.transport.scripts import Scripts

from .engine import LANE, Engine
from .question import Figure, Measured, Question, Target
from .rig import Rig
from .server_time import FCALL, server_time

PLAIN: Final = "plain"
RATE: Final = "a rate"
FAIR: Final = "a fair lane"
UNIQUE: Final = "a unique key"
AGEING: Final = "ageing"
USERS: Final = 10
WAITING: Final = 1_000
MOST: Final = 1.1


def measure(rig: Rig, side: str) -> Measured:
    """Let so many executions go through, one after the other."""
    engine, calls = Engine(rig.client), rig.sized(20, 500, 5_000)
    if side == RATE:
        engine.controls.rates.set("action:count", Rate.read("1000000/s"))
    elif side == FAIR:
        Shares(Scripts(rig.client, engine.keys)).share(LANE, "user")
    elif side == AGEING:
        engine.controls.change_setting("ageing_seconds", 3_600, lane=LANE)
    for number in range(WAITING):
        engine.transitions.park(_candidate(engine, side, number))
    with server_time(rig.client) as spent:
        for number in range(calls):
            engine.transitions.park(_candidate(engine, side, number))
            (grant,) = engine.admit()
            engine.release(grant)
    return {"a life": spent.usec[FCALL] / calls}


def _candidate(engine: Engine, side: str, number: int) -> Candidate:
    candidate = replace(engine.candidate(), user_id=f"user-{number % USERS}")
    if side == UNIQUE:
        key = UniqueKey(candidate.execution_id, Until.ENDED, Conflict.DROP)
        return replace(candidate, unique=key)
    return candidate


QUESTION = Question(
    name="policies",
    asks="What do a rate, a fair lane, a unique key and ageing add to an execution's cost on the server?",
    sides=(PLAIN, RATE, FAIR, UNIQUE, AGEING),
    figures=(Figure("a life", "µs"),),
    measure=measure,
    targets=tuple(Target(side, "a life", at_most=MOST, of_side=PLAIN) for side in (RATE, FAIR, UNIQUE, AGEING)),
)
