"""Finds the execution that an operator means: by its id, or by the beginning of exactly one id.

In the flow: every command that takes an id of an operator asks here first. Ids are looked for among what waits, is
scheduled, runs or is dead, and in the latest of the journal; the whole id always works, as long as the execution is
known at all.
"""

from collections.abc import Iterable
from typing import Final

from .engine.journal import Verb
from .model.errors import AmbiguousExecution, UnknownExecution
from .model.identifiers import check_execution_id
from .queue import ExecutionQueueService

JOURNAL_TAIL: Final = 5_000
"""So many of the latest transitions are searched for ended executions."""

EVERYTHING: Final = 1_000_000


def find_id(queue: ExecutionQueueService, typed: str) -> str:
    """The id of the execution that was meant.

    Raises:
        InvalidRequest: If it can be no id.
        UnknownExecution: If no known id is or begins with it.
        AmbiguousExecution: If several begin with it.
    """
    check_execution_id(typed)
    if queue.views.meta(typed):
        return typed
    return meant(typed, known_ids(queue))


def meant(typed: str, known: Iterable[str]) -> str:
    """The one of the known ids that begins with what was typed."""
    found = list(dict.fromkeys(one for one in known if one.startswith(typed)))
    if not found:
        raise UnknownExecution(execution_id=typed)
    if len(found) > 1:
        raise AmbiguousExecution(typed=typed, found=found)
    return found[0]


def find_ids(queue: ExecutionQueueService, typed: Iterable[str]) -> list[tuple[str, UnknownExecution | None]]:
    """Each with its id, or as it was typed with the error; what is ambiguous or no id at all stops the whole."""
    found: list[tuple[str, UnknownExecution | None]] = []
    for one in dict.fromkeys(typed):
        try:
            found.append((find_id(queue, one), None))
        except UnknownExecution as error:
            found.append((one, error))
    return found


def known_ids(queue: ExecutionQueueService) -> Iterable[str]:
    """The ids that can be found by their beginnings."""
    yield from queue.overview.active()
    yield from queue.overview.pending(EVERYTHING)
    views = queue.views
    yield from views.scheduled(EVERYTHING)
    yield from views.dead(EVERYTHING)
    for entry in queue.journal.entries(newest_first=True, limit=JOURNAL_TAIL):
        # What was refused is not an execution: nothing of it was kept. Neither is an operator's change.
        if entry.verb != Verb.REJECT and entry.execution_id:
            yield entry.execution_id
