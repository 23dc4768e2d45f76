"""When a run has come to enough: by what is recorded of it so far, however long that took on this machine."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from bandmaster.scheduler.model.errors import BandmasterError
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.following import Following
from chaos.found import Found, Kind
from chaos.judging import judge
from chaos.occurrences import instant_of_id
from chaos.plan import FAIR, KIND, WEIGHTS
from chaos.planted import completed
from chaos.recorded import Recorded

COMPLETED: Final = 10
"""Of what was sent: whatever is planted finds something of its own then."""
AT_THE_END: Final = frozenset({Kind.NOT_PLANNED, Kind.PASSED_OVER})
"""Looked for when the schedules are removed, and not before."""


class Enough:
    """Of one run."""

    def __init__(
        self, queue: ExecutionQueueService, following: Following, folder: Path, rules: Collection[Kind]
    ) -> None:
        """Nothing is read yet.

        Args:
            queue: Its calls give up soon, since faults are made meanwhile.
            following: Of the run.
            folder: Of the programs' notes.
            rules: Something has to have come to each of these, something been tried again, and an occurrence run.
        """
        self._queue = queue
        self._following = following
        self._folder = folder
        self._rules = {*rules} - AT_THE_END

    def is_recorded(self) -> bool:
        """Whether it is so now; a copy of the server that is put back can make it untrue again."""
        recorded = Recorded()
        recorded.read_notes(self._folder)  # before the journal: what was accepted by then is in it, unless forgotten
        try:
            recorded.entries = [*self._following.read_on(self._queue)]
        except BandmasterError:
            return False  # the server is away
        recorded.forgotten = self._following.forgotten
        if len(completed(recorded)) < COMPLETED:
            return False
        if not self._rules:
            return True
        found = Found()
        executions = judge(recorded, found, {FAIR: KIND}, WEIGHTS).executions
        is_retried = any(each.attempt > 1 for each in executions.values())
        has_occurred = any(each.granted and instant_of_id(name) for name, each in executions.items())
        return is_retried and has_occurred and found.looked.keys() >= self._rules
