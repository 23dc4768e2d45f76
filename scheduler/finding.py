"""Finds the execution that an operator means: by its id, or by the beginning of exactly one id.

In the flow: every command that takes an execution id asks here first. The search covers executions that wait, are
scheduled or run, dead letters, and the latest journal entries. A whole id works as long as the execution is known.
"""

from collections.abc import Iterable
from typing import Final

from .engine.journal import Verb
from .model.errors import AmbiguousExecution, UnknownExecution
from .model.identifiers import check_execution_id
from .queue import ExecutionQueueService

JOURNAL_TAIL: Final = 5_000
"""How many of the latest transitions are searched for ended executions."""


def find_id(queue: ExecutionQueueService, typed: str) -> str:
    """Return the id of the execution that the operator meant.

    Raises:
        InvalidRequest: If the typed text cannot be an id.
        UnknownExecution: If no known id equals it or begins with it.
        AmbiguousExecution: If several ids begin with it.
    """
    check_execution_id(typed)
    if queue.views.meta(typed):
        return typed
    return meant(typed, known_ids(queue))


def meant(typed: str, known: Iterable[str]) -> str:
    """Return the one known id that begins with the typed text."""
    found = list(dict.fromkeys(one for one in known if one.startswith(typed)))
    if not found:
        raise UnknownExecution(execution_id=typed)
    if len(found) > 1:
        raise AmbiguousExecution(typed=typed, found=found)
    return found[0]


def known_ids(queue: ExecutionQueueService) -> Iterable[str]:
    """Yield the ids that can be found by their beginnings."""
    yield from queue.ids.active()
    yield from queue.ids.waiting()
    yield from queue.ids.scheduled()
    yield from queue.views.dead(0)
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_TAIL):
        # A refused request is no execution: nothing of it was kept. An operator's change is none either.
        if entry.verb != Verb.REJECT and entry.execution_id:
            yield entry.execution_id
