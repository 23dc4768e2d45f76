"""Measures what a ledger costs: how fast 8 threads empty a queue of 10,000 jobs while its process writes the history.

Server, worker and ledger share the machine's cores, so the ratio says what a machine that is full loses.
"""

import os

from .drain import measure as drained
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

WITH_LEDGER = f"{BANDMASTER}, with a ledger"


def measure(rig: Rig, side: str) -> Measured:
    """Drain, on one side with a ledger's process beside the worker."""
    if side == BANDMASTER:
        return drained(rig, BANDMASTER)
    file = rig.folder / "drain.sqlite3"
    for each in rig.folder.glob(f"{file.name}*"):
        each.unlink()
    settings = {"BANDMASTER_REDIS__URL": rig.url, "BANDMASTER_LEDGER__URL": f"sqlite:///{file}"}
    os.environ.update(settings)
    try:
        with rig.process("bandmaster.ledger"):
            return drained(rig, BANDMASTER)
    finally:
        for name in settings:
            del os.environ[name]


QUESTION = Question(
    name="ledger_drain",
    asks="How many waiting jobs a second do 8 threads run while a ledger is written on the same machine?",
    sides=(BANDMASTER, WITH_LEDGER),
    figures=(Figure("drained", "1/s"),),
    measure=measure,
    targets=(Target(WITH_LEDGER, "drained", at_least=0.8, of_side=BANDMASTER),),
)
