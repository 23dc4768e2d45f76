"""Reads the journal while it grows, so that what a restored server has forgotten is known."""

from collections.abc import Iterable, Sequence

import redis

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.own_data import CopiedServer
from chaos.recorded import Forgotten, Recorded


class Following:
    """Of one server."""

    def __init__(self, queue: ExecutionQueueService, server: CopiedServer, recorded: Recorded) -> None:
        self._queue = queue
        self._server = server
        self._recorded = recorded

    @property
    def forgotten(self) -> list[Forgotten]:
        """What the server forgot so far."""
        return self._recorded.forgotten

    def read_on(self, queue: ExecutionQueueService | None = None) -> list[JournalEntry]:
        """Read what has come since, by another way to the server if one is given; returns all."""
        entries = self._recorded.entries
        entries += (queue or self._queue).journal.entries(after=entries[-1].entry_id if entries else None)
        return entries

    def restore(self) -> None:
        """Have the server forget, and take back what it forgot."""
        self.read_on()
        with redis.Redis.from_url(self._server.url) as client:
            client.execute_command("CLIENT", "PAUSE", "60000", "WRITE")  # what is read now is all that will be lost
        entries = self.read_on()
        copied_at = self._server.copied_at
        killed_at = self._server.restore()
        kept = kept_of(entries, self._queue.journal.entries(newest_first=True))
        self._recorded.forgotten.append(Forgotten(copied_at, killed_at, tuple(entries[kept:])))
        del entries[kept:]


def kept_of(entries: Sequence[JournalEntry], newest_first: Iterable[JournalEntry]) -> int:
    """How many of the entries a restored server still has.

    Args:
        entries: Of the server, before it forgot.
        newest_first: The journal now; at its end there may be entries of workers that were faster than we are.
    """
    # Not by the id alone: while the clock is set back, a new entry has the id of one that was forgotten.
    places = {entry.entry_id: number for number, entry in enumerate(entries, 1)}
    for entry in newest_first:
        place = places.get(entry.entry_id, 0)
        if place and entries[place - 1] == entry:
            return place
    return 0
