"""Measures how many executions a second the API shows, one by one, beside a bare endpoint that reads nothing.

One client over one connection asks both in turns; each is a process of its own. So the ratio says what it costs to know
the caller, to read the execution from Redis and to say why it waits.
"""

import time
from pathlib import Path

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService

from .api_calls import Calls, served
from .apps.bare_api import PORT
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

ENDPOINT = "bare endpoint"


def measure(rig: Rig, side: str) -> Measured:
    """Ask for a hundred executions, over and over."""
    count = rig.sized(20, 500, 3_000)
    if side == ENDPOINT:
        port = Path(rig.folder, PORT)
        port.unlink(missing_ok=True)
        with rig.process("benchmarks.apps.bare_api"):
            rig.wait_until(lambda: port.exists() and bool(port.read_text()), "the endpoint")
            rig.wait_until(lambda: _answers(int(port.read_text())), "its first answer")
            return {"shown": _shown(Calls(int(port.read_text())), count)}
    queue = ExecutionQueueService(rig.client)
    for number in range(100):
        queue.enqueue({"execution_id": f"e-{number}", "command": ["true"], "gates": ["tenant:1"]})
    ledger = rig.folder / "api_reads.sqlite3"
    database = Database(f"sqlite:///{ledger}")
    upgrade(database)
    database.close()
    with served(rig, ledger) as calls:
        return {"shown": _shown(calls, count)}


def _answers(port: int) -> bool:
    try:
        Calls(port).get("/api/v1/executions/e-0")
    except OSError:
        return False
    return True


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
