"""Measures how many executions a second the API shows, one by one, beside a bare endpoint that reads nothing.

One client over one connection asks both in turns; each is a process of its own. So the ratio says what it costs to know
the caller, to read the execution from Redis and to say why it waits.
"""

import time

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService

from .api_calls import Calls, bare_endpoint, served
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

ENDPOINT = "bare endpoint"


def measure(rig: Rig, side: str) -> Measured:
    """Ask for a hundred executions, over and over."""
    count = rig.sized(20, 500, 3_000)
    if side == ENDPOINT:
        with bare_endpoint(rig) as calls:
            return {"shown": _shown(calls, count)}
    queue = ExecutionQueueService(rig.client)
    for number in range(100):
        queue.enqueue({"execution_id": f"e-{number}", "command": ["true"], "gates": ["tenant:1"]})
    ledger = rig.folder / "api_reads.sqlite3"
    database = Database(f"sqlite:///{ledger}")
    upgrade(database)
    database.close()
    with served(rig, f"sqlite:///{ledger}") as calls:
        return {"shown": _shown(calls, count)}


def _shown(calls: Calls, count: int) -> float:
    for number in range(20):
        calls.get(f"/api/v1/executions/e-{number}")
    began = time.perf_counter()
    for number in range(count):
        calls.get(f"/api/v1/executions/e-{number % 100}")
    return count / (time.perf_counter() - began)


QUESTION = Question(
    name="api_reads",
    asks="How many executions a second does the API show, one by one?",
    sides=(ENDPOINT, BANDMASTER),
    figures=(Figure("shown", "1/s"),),
    measure=measure,
    targets=(Target(BANDMASTER, "shown", at_least=0.6, of_side=ENDPOINT),),
)
