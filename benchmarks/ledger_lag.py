"""Measures how far behind the ledger is at 2,000 transitions a second: from an entry's time to its commit.

Executions are parked, admitted and released in pages, at a steady rate. Every fifty milliseconds the journal's last
entry is noted, and the ledger asked how far it is; the clock of the server is this machine's.
"""

import threading
import time
from collections import deque

from bandmaster.ledger.database import Database
from bandmaster.ledger.standing import standing
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.transport.scripts import Scripts

from .engine import Engine
from .ledgers import ON_POSTGRESQL, ON_SQLITE, wait_until_written, written
from .order import percentile
from .question import Figure, Measured, Question, Target
from .rig import Rig

TRANSITIONS_A_SECOND = 2_000
LOOK_SECONDS = 0.05
_PAGE = 50
_OF_ONE = 3  # it is parked, admitted and released


class Watch:
    """Notes how late entries are in the ledger, in a thread of its own."""

    def __init__(self, rig: Rig, database: Database) -> None:
        self.late_ms: list[float] = []
        self._follower = Follower(Scripts(rig.client))
        self._database = database
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        waiting: deque[tuple[int, int]] = deque()
        while waiting or not self._ends.is_set():
            end = self._follower.end()
            if end.count and not self._ends.is_set() and (not waiting or waiting[-1][0] < end.count):
                waiting.append((end.count, int(end.entry_id.partition("-")[0])))
            position = standing_count(self._database)
            now_ms = time.time() * 1000
            while waiting and waiting[0][0] <= position:
                self.late_ms.append(now_ms - waiting.popleft()[1])
            time.sleep(LOOK_SECONDS)

    def end(self) -> list[float]:
        """End, when all that was noted is in the ledger; how late it was, in milliseconds."""
        self._ends.set()
        self._thread.join()
        return self.late_ms


def standing_count(database: Database) -> int:
    """How many entries were read."""
    position = standing(database, "exec_queue").position
    return 0 if position is None else position.count


def measure(rig: Rig, side: str) -> Measured:
    """Let executions come and go at the rate."""
    engine, seconds = Engine(rig.client), rig.sized(1, 3, 20)
    with written(rig, side) as database:
        assert database is not None
        watch, began = Watch(rig, database), time.monotonic()
        pages = seconds * TRANSITIONS_A_SECOND // (_PAGE * _OF_ONE)
        for page in range(pages):
            time.sleep(max(0.0, began + page * _PAGE * _OF_ONE / TRANSITIONS_A_SECOND - time.monotonic()))
            engine.fill(_PAGE)
            for grant in engine.admit(_PAGE):
                engine.release(grant)
        made = pages * _PAGE * _OF_ONE / (time.monotonic() - began)
        late_ms = watch.end()
        wait_until_written(rig, database)
    return {"transitions": made, "p50": percentile(late_ms, 50), "p99": percentile(late_ms, 99)}


QUESTION = Question(
    name="ledger_lag",
    asks="How late is a transition in the ledger, at 2,000 of them a second?",
    sides=(ON_SQLITE, ON_POSTGRESQL),
    figures=(Figure("transitions", "1/s"), Figure("p50", "ms"), Figure("p99", "ms")),
    measure=measure,
    targets=(Target(ON_SQLITE, "p99", at_most=1_000), Target(ON_POSTGRESQL, "p99", at_most=1_000)),
)
