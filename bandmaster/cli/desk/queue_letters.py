"""``QueueLetters``: dead letters beside Redis, by the queue's own service.

In the flow: one side of `port.Letters`. A retry accepts the same work under a new id, and drops the letter only after
that; if the process dies in between, both exist.
"""

from collections.abc import Sequence
from typing import ClassVar

from bandmaster.cli.desk.told import Letter, LetterRefused
from bandmaster.cli.expected import exit_of
from bandmaster.cli.failures import read_failure
from bandmaster.cli.opening import Opened
from bandmaster.middleware.operations.dead_letters import Again, accept_again, refused_again
from bandmaster.scheduler.engine.record import read_records, read_result
from bandmaster.scheduler.finding import meant
from bandmaster.scheduler.model.errors import NotRunnable, QueueRejected
from bandmaster.scheduler.model.identifiers import check_execution_id
from bandmaster.scheduler.model.operators import user_at_host


class QueueLetters:
    """Dead letters of a queue beside Redis."""

    untold: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, bandmaster: Opened) -> None:
        self._bandmaster = bandmaster
        self._queue = bandmaster.queue

    def listed(self, most: int) -> list[Letter]:
        """The latest."""
        views = self._queue.views
        records = read_records(views, views.dead(most)).values()
        return [
            Letter(each, read_result(views, each.execution_id), read_failure(self._queue, each.execution_id))
            for each in records
        ]

    def ids(self) -> list[str]:
        """The ids of all, those too whose record is gone."""
        return self._queue.views.dead(0)

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or by its beginning."""
        check_execution_id(typed)
        letters = self.ids()
        return typed if typed in letters else meant(typed, letters)

    def retry(self, execution_id: str) -> Again:
        """Run one again, under a new id, and drop it."""
        try:
            again = accept_again(self._queue, self._bandmaster.dramatiq_broker(), execution_id, by=user_at_host())
        except (NotRunnable, QueueRejected) as error:
            raise LetterRefused(str(error), exit_of(error)) from error
        self._queue.drop(execution_id)
        return again

    def refused_again(self, retried: Sequence[Again]) -> dict[str, str]:
        """Those that their workers refuse once more, and why."""
        return refused_again(self._queue, retried)

    def drop(self, execution_id: str) -> bool:
        """Forget one; whether there was one."""
        return self._queue.drop(execution_id)
