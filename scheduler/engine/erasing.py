"""Takes a user out of Redis: what is kept of executions that have ended, the journal, and what operators set.

In the flow: ``bandmaster ledger forget`` calls it, page by page. Repeating each call does no harm: if the process dies
here, the command is run again. What lives is left alone.
"""

from collections.abc import Callable, Sequence

from ..model.operators import check_by
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts
from .journal import READ_A_TRIP, JournalEntry, read_entry

_MARK = b"id"


class Erasing(Reader):
    """Erases on one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        super().__init__(scripts)
        self._erase = scripts.script("erase", "user pseudonym ids by")

    def erase(self, user_id: str, pseudonym: str, execution_ids: Sequence[str], *, by: str) -> int:
        """Delete what is kept of a user's executions that have ended.

        Args:
            user_id: The user; of others' executions nothing is deleted.
            pseudonym: The name under which the journal tells of it.
            execution_ids: Which executions.
            by: Who asks.

        Returns:
            How many executions there was something of.
        """
        return self._scripts.call(self._erase, user_id, pseudonym, "\n".join(execution_ids), check_by(by))

    def strike(self, is_meant: Callable[[JournalEntry], bool], until: str) -> int:
        """Delete entries of the journal, and of the latest changes.

        Readers count the journal's entries, deleted ones too, so what is deleted must have been read: who has not read
        it is told that something was dropped.

        Args:
            is_meant: Which entries.
            until: The id of the last entry that is looked at.

        Returns:
            How many entries were deleted.
        """
        return self._strike("journal", is_meant, until) + self._strike("changes", is_meant, "+")

    def _strike(self, stream: str, is_meant: Callable[[JournalEntry], bool], until: str) -> int:
        struck, after = 0, "-"
        while page := self._page(stream, after, until):
            entries = [read_entry(entry_id, {_MARK: b""} | raw) for entry_id, raw in page]
            struck += self._delete(stream, [entry.entry_id for entry in entries if entry and is_meant(entry)])
            after = f"({page[-1][0].decode()}"
        return struck

    @repeated
    def _page(self, stream: str, after: str, until: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
        return self._client.xrange(self._scripts.keys.named(stream), min=after, max=until, count=READ_A_TRIP)

    @repeated
    def _delete(self, stream: str, entry_ids: Sequence[str]) -> int:
        return self._client.xdel(self._scripts.keys.named(stream), *entry_ids) if entry_ids else 0

    @repeated
    def forget_gate(self, gate: str) -> None:
        """Delete when a gate was paused, and by what time its rate was measured."""
        self._client.delete(self._scripts.keys.pauses(gate), self._scripts.keys.rate_time(gate))
