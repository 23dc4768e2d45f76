"""Measures how fast the ledger's process reads the journal into its database: 30,000 entries of 10,000 executions.

The entries are there before it begins. Reading, decoding and writing count; each page is one transaction.
"""

import time

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.scheduler.engine.engine import Engine as Queue
from bandmaster.scheduler.transport.scripts import Scripts

from .engine import Engine
from .ledgers import empty_database
from .question import Figure, Measured, Question, Target
from .rig import Rig

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"


def measure(rig: Rig, side: str) -> Measured:
    """Fill the journal, then let a consumer read all of it."""
    engine, count = Engine(rig.client), rig.sized(100, 1000, 10_000)
    engine.fill(count)
    ended = 0
    while ended < count:
        for grant in engine.admit(50):
            engine.release(grant)
            ended += 1
    with empty_database(rig, side) as (database, _):
        consumer = Consumer(Queue(Scripts(rig.client)), Book(database, queue="exec_queue", holder="benchmark"))
        consumer.begin()
        began, entries = time.perf_counter(), 0
        while read := consumer.step():
            entries += read
        seconds = time.perf_counter() - began
    return {"written": entries / seconds}


QUESTION = Question(
    name="ledger_writer",
    asks="How many of the journal's entries a second does the ledger write?",
    sides=(SQLITE, POSTGRESQL),
    figures=(Figure("written", "1/s"),),
    measure=measure,
    targets=(Target(SQLITE, "written", at_least=10_000), Target(POSTGRESQL, "written", at_least=10_000)),
)
