"""``rebuild``: brings Redis to what the ledger knows, up to the position that it has read.

In the flow: ``bandmaster ledger rebuild`` calls it. First everything is paused; limits, settings and pauses are set;
ends, dead letters and living executions are restored; then the pause ends, and the journal tells that the rebuild has.
Each step may be repeated: if the process dies here, everything stays paused until it is run again; and for as long
`unrestored.py` tells of what is missing.

What was granted holds its slot again. A pod that still runs is found by the watch, as after any restart. The worker of
a body learns at its next heartbeat that its grant is gone, and the execution waits again when its lease has run out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from ...configs.logger import Logger
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.restoring import Known, Restored, Restoring
from ...scheduler.events.schedule import is_occurrence
from ...scheduler.model.limits import EVERYTHING
from ...scheduler.model.states import State
from ...scheduler.overview import Overview
from ..database import Database
from ..errors import AnotherQueue, QueueNotEmpty
from ..unrestored import REBUILD
from .history import History
from .operators import is_paused_by_operator, set_again

_log: Final = Logger("bandmaster.ledger")


@dataclass(slots=True)
class Rebuilt:
    """What was done."""

    restored: dict[str, int] = field(default_factory=dict[str, int])
    """State → how many executions are in it again; those that Redis knew as well are not among them."""
    known: int = 0
    """Executions of which Redis knew as much, or more."""
    not_restored: dict[str, str] = field(default_factory=dict[str, str])
    """Execution → why not: its payload was not kept, its end was not read, its items went back, or its data in
    Redis is damaged."""
    changes: int = 0
    """Limits, pauses and settings that were set again."""
    not_set: dict[str, str] = field(default_factory=dict[str, str])
    """Limits, pauses and settings that this release does not take → why not."""
    stays_paused: bool = False
    """Whether everything was paused by an operator before, and still is."""

    def note(self, execution: Known, outcome: Restored) -> None:
        """Count one execution."""
        match outcome:
            case Restored.RESTORED:
                self.restored[execution.state] = self.restored.get(execution.state, 0) + 1
            case Restored.NO_PAYLOAD if _is_planned_again(execution):
                pass
            case Restored.NO_PAYLOAD:
                self.leave(execution, "its payload is not in the ledger")
            case Restored.ERROR:
                self.not_restored[execution.execution_id] = "what Redis has of it is damaged"
            case Restored.ENDED | Restored.NEWER:
                self.known += 1

    def leave(self, execution: Known, why: str) -> None:
        """Note one that is not restored."""
        self.not_restored[execution.execution_id] = f"it was {execution.state} on lane {execution.lane}, and {why}"


def _is_planned_again(execution: Known) -> bool:
    """Whether it is an occurrence that was not due: its schedule is there again, or its application declares it."""
    return execution.state is State.SCHEDULED and not execution.attempt and is_occurrence(execution.execution_id)


def rebuild(
    engine: Engine, database: Database, *, merge: bool = False, say: Callable[[str], None] = lambda _: None
) -> Rebuilt:
    """Bring Redis to what the ledger knows.

    Args:
        engine: The queue.
        database: Its ledger.
        merge: Whether Redis may have work. Then what has ended in the ledger ends in Redis, too; of what lives in both,
            the later attempt stays; and work that only Redis knows stays as it is.
        say: Is told how it goes.

    Returns:
        What was done, and what could not be restored.

    Raises:
        SchemaMismatch: If its tables are of another release. Nothing was changed, as with the next three.
        LedgerEmpty: If nothing was ever written into it.
        AnotherQueue: If the ledger is that of another queue.
        QueueNotEmpty: If Redis has work, and `merge` was not asked for.
        LedgerUnavailable: If the database does not answer. Everything stays paused until it is run again.
        QueueUnavailable: If Redis does not answer. As before.
    """
    history, done = History(database), Rebuilt()
    prefix = engine.scripts.keys.prefix
    if history.queue != prefix:
        raise AnotherQueue(history.queue, prefix)
    lanes = [lane for lane in Overview(engine.scripts).lanes() if lane.size]
    if lanes and not merge:
        raise QueueNotEmpty(sum(lane.size for lane in lanes))
    changes = history.changes()
    done.stays_paused = is_paused_by_operator(changes, engine)
    engine.controls.pause(EVERYTHING, by=REBUILD)
    _log.info("rebuild_begins", merge=merge, position=history.position)
    done.changes, done.not_set = set_again(changes, engine)
    restoring = Restoring(engine.scripts)
    for action, enqueued, completed in history.totals():
        restoring.restore_totals(action, enqueued, completed)
    living = {one for lane in lanes for one in engine.views.members(lane.lane)}
    _restore(restoring, history.ended_though_living(living, engine.views.metas), done)
    settings = engine.views.status().settings
    now_ms = engine.views.server_time_ms()
    meta_ttl, direct_ttl = (int(1000 * (settings[name] or 0)) for name in ("meta_ttl_seconds", "direct_ttl_seconds"))
    _restore(restoring, history.ended(now_ms - meta_ttl, now_ms - direct_ttl), done)
    say(f"{done.changes:,} limits, pauses and settings; {sum(done.restored.values()):,} records of what has ended")
    _restore(restoring, history.dead(), done)
    _restore(restoring, history.living(now_ms), done, say)
    for execution in history.ended_unread():
        done.leave(execution, "its end was dropped unread")
    for execution in history.given_back():
        done.leave(execution, "its items were given back meanwhile")
    if not done.stays_paused:
        engine.controls.resume(EVERYTHING, by=REBUILD)
    restoring.end(REBUILD)
    _log.info("rebuilt", restored=sum(done.restored.values()), known=done.known, not_restored=len(done.not_restored))
    return done


def _restore(
    restoring: Restoring, executions: Iterable[Known], done: Rebuilt, say: Callable[[str], None] = lambda _: None
) -> None:
    for number, (execution, outcome) in enumerate(restoring.restore(executions), start=1):
        done.note(execution, outcome)
        if number % 10_000 == 0:
            say(f"{number:,} executions")
