"""Measures how fast the ledger's process reads the journal into its database: 30,000 entries of 10,000 executions.

The entries are there before it begins. Reading, decoding and writing count; each page is one transaction. Of messages,
as `keep_messages` is off, there is nothing to keep besides; of scripts, each event and each result is fetched, too.
"""

import time
from collections.abc import Callable

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.scheduler.engine.engine import Engine as Queue
from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.engine.record import Result
from bandmaster.scheduler.engine.transitions import Candidate, Transitions
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.scripts import Scripts

from .engine import LEASE_MS, NORMAL, Engine
from .ledgers import empty_database
from .question import Figure, Measured, Question, Target
from .rig import Rig

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
OF_SCRIPTS = "scripts and results, "
SCRIPT = "echo hello\n" * 20
RESULT = Result(exit_code=0, duration_seconds=0.01, output_tail="hello\n" * 20).model_dump_json().encode()
AT_ONCE = 50


def measure(rig: Rig, side: str) -> Measured:
    """Fill the journal, then let a consumer read all of it."""
    count = rig.sized(100, 1000, 10_000)
    if side.startswith(OF_SCRIPTS):
        _run_scripts(Transitions(Scripts(rig.client)), count)
    else:
        engine = Engine(rig.client)
        engine.fill(count)
        _run(count, lambda: engine.admit(AT_ONCE), engine.release)
    with empty_database(rig, side) as (database, _):
        consumer = Consumer(Queue(Scripts(rig.client)), Book(database, queue="exec_queue", holder="benchmark"))
        consumer.begin()
        began, entries = time.perf_counter(), 0
        while read := consumer.step():
            entries += read
        seconds = time.perf_counter() - began
    return {"written": entries / seconds}


def _run_scripts(transitions: Transitions, count: int) -> None:
    for number in range(count):
        event = ExecutionRequestedEvent(execution_id=f"script-{number}", action="pod", script=SCRIPT)
        transitions.park(Candidate(event.execution_id, DEFAULT_LANE, NORMAL, "pod", event=event.to_json()))
    _run(
        count,
        lambda: transitions.admit((DEFAULT_LANE,), AT_ONCE, lease_ms=LEASE_MS, consumer=True).grants,
        lambda grant: transitions.release(grant.execution_id, grant.attempt, State.COMPLETED, result=RESULT),
    )


def _run(count: int, admit: Callable[[], list[Grant]], release: Callable[[Grant], object]) -> None:
    ended = 0
    while ended < count:
        for grant in admit():
            release(grant)
            ended += 1


QUESTION = Question(
    name="ledger_writer",
    asks="How many of the journal's entries a second does the ledger write?",
    sides=(SQLITE, POSTGRESQL, f"{OF_SCRIPTS}{SQLITE}", f"{OF_SCRIPTS}{POSTGRESQL}"),
    figures=(Figure("written", "1/s"),),
    measure=measure,
    targets=(Target(SQLITE, "written", at_least=10_000), Target(POSTGRESQL, "written", at_least=10_000)),
)
