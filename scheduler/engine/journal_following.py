"""Follows the journal from a position, and notices entries that are missing and a journal that is another one.

In the flow: the ledger's consumer and the API's hub of events read here; who has a user forgotten, and the command that
shows how the ledger stands, ask how far the journal goes. A plain XREAD would go on silently after a FLUSHALL or on a
server that was restored from older data. Redis counts the entries that it ever added to a stream, so a position that
holds this count tells how many entries are missing: those that Redis dropped unread, and those that nobody can read, so
that a damaged one stops nobody. A random name, the incarnation, stands beside the journal and is lost with it. A server
that was restored has the old name: its last entry is older than the position; or, if its clock or much new work brought
it past that, the entry at the position is missing, on a server process that is another one.
"""

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from redis.exceptions import ResponseError

from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts
from .journal import JournalEntry, read_entry

START: Final = "0-0"
"""The id before all entries."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a journal was read."""

    incarnation: str
    """The name of the journal."""
    entry_id: str
    """The last entry that was read; `0-0`: none."""
    count: int
    """How many entries the journal had ever got, up to this one."""
    server: str | None = None
    """The server process that had the journal then (`run_id`); empty: it does not tell. None: nobody asks."""


@dataclass(frozen=True, slots=True)
class Page:
    """The entries after a position."""

    entries: list[JournalEntry]
    position: Position
    """After the last of them."""
    missed: int
    """How many entries Redis dropped before they were read, or are damaged."""
    ahead: int
    """How many entries follow."""
    counts: list[int]
    """For each entry, how many the journal had ever got, up to it."""

    @property
    def passed(self) -> int:
        """How many entries it goes over: those that it has, those that are damaged, and those that were dropped."""
        return len(self.entries) + self.missed

    def cut(self, number: int) -> "Page":
        """The part up to one of its entries: with that many of them, and what was missed before the last of these."""
        if number == len(self.entries):
            return self
        count = self.counts[number - 1]
        position = replace(self.position, entry_id=self.entries[number - 1].entry_id, count=count)
        ahead, began = self.ahead + self.position.count - count, self.position.count - self.passed
        return Page(self.entries[:number], position, count - began - number, ahead, self.counts[:number])

    def without_the_only_entry(self) -> "Page":
        """The page of one entry as if nobody could read it."""
        return Page([], self.position, self.passed, self.ahead, [])


class Follower(Reader):
    """Reads the journal of one queue. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        super().__init__(scripts)
        self._trim = scripts.script("trim", "incarnation before least")

    @repeated
    def begin(self, followed: str | None = None) -> Position:
        """Name the journal, and return the position before its oldest entry.

        Args:
            followed: The name of the journal that was followed until now. If this one has the same name, though it is
                another one, it gets a new name, as it does if it has none.
        """
        name = self._scripts.keys.named("incarnation")
        if followed is not None and self._client.get(name) == followed.encode():
            self._client.set(name, uuid4().hex)
        incarnation, info = self._named()
        added, length = _counts(info)
        return Position(incarnation, START, added - length, self._server())

    @repeated
    def name(self) -> str | None:
        """The journal's name; None: it has none."""
        name = self._client.get(self._scripts.keys.named("incarnation"))
        return None if name is None else name.decode()

    @repeated
    def end(self) -> Position:
        """Name the journal, if it has no name, and return the position after its last entry."""
        incarnation, info = self._named()
        added, length = _counts(info)
        return Position(incarnation, _last(info) if length else START, added)

    def _named(self) -> tuple[str, Any]:
        """The journal's name, and what Redis says of the journal at the same time.

        A name is written only where there is none: a full server, or a replica, takes no writes, and can be read.
        """
        keys = self._scripts.keys
        while True:
            pipeline = self._client.pipeline(transaction=True)
            pipeline.get(keys.named("incarnation"))
            pipeline.xinfo_stream(keys.named("journal"))
            incarnation, info = pipeline.execute(raise_on_error=False)
            if isinstance(incarnation, ResponseError):
                raise incarnation
            if incarnation is not None:
                return incarnation.decode(), info
            self._client.set(keys.named("incarnation"), uuid4().hex, nx=True)

    def _server(self) -> str:
        """The name that a server process gives itself at its start; empty where INFO is forbidden."""
        try:
            return str(self._client.info("server").get("run_id", ""))
        except ResponseError:
            return ""

    @repeated
    def read(self, position: Position, limit: int) -> Page | None:
        """Return the entries after a position, at most `limit`; None if the journal is not the one of the position.

        It is another one if its name is gone or changed, if it has got fewer entries than were read, if its last entry
        is older than the position, or if the entry at the position is not in it though no later one was dropped, or
        another server process has it now.
        """
        keys = self._scripts.keys
        server = None if position.server is None else self._server()
        pipeline = self._client.pipeline(transaction=True)
        pipeline.get(keys.named("incarnation"))
        pipeline.xinfo_stream(keys.named("journal"))
        pipeline.xrange(keys.named("journal"), min=position.entry_id, count=limit + 1)
        incarnation, info, found = pipeline.execute(raise_on_error=False)
        if isinstance(found, ResponseError):
            raise found
        added, length = _counts(info)
        if incarnation is None or incarnation.decode() != position.incarnation or added < position.count:
            return None
        if position.entry_id != START and _parts(_last(info)) < _parts(position.entry_id):
            return None
        dropped = added - length
        is_kept = position.entry_id != START and position.count > dropped
        if is_kept:
            if not found or found[0][0].decode() != position.entry_id:
                return None
            del found[0]
        elif position.entry_id != START and position.server and server and server != position.server:
            return None
        del found[limit:]
        unread = max(0, dropped - position.count)
        count = position.count + unread + len(found)
        last = found[-1][0].decode() if found else position.entry_id
        before, entries, counts = position.count + unread, list[JournalEntry](), list[int]()
        for number, (entry_id, raw) in enumerate(found, start=1):
            if (entry := read_entry(entry_id, raw)) is not None:
                entries.append(entry)
                counts.append(before + number)
        missed = unread + len(found) - len(entries)
        return Page(entries, Position(position.incarnation, last, count, server), missed, added - count, counts)

    def behind(self, position: Position) -> int | None:
        """How many entries follow a position, with those that were dropped unread; None: it is another journal."""
        page = self.read(position, 1)
        return None if page is None else page.ahead + page.passed

    def trim(self, position: Position, before_ms: int, least: int) -> int:
        """Drop the oldest entries that were read, some ten thousand at most; of another journal none.

        Args:
            position: How far it was read: what follows stays, and its last entry, too.
            before_ms: Entries from this time on stay, in Unix milliseconds of the server's clock.
            least: So many of the latest stay.

        Returns:
            How many were dropped.
        """
        read_ms, _, _ = position.entry_id.partition("-")
        before = position.entry_id if int(read_ms) <= before_ms else f"{max(before_ms, 0)}-0"
        return int(self._scripts.call(self._trim, position.incarnation, before, least))

    @repeated
    def wait(self, position: Position, timeout_ms: int) -> None:
        """Return when an entry follows the position, or after that time, which has to be below the socket's timeout."""
        self._client.xread({self._scripts.keys.named("journal"): position.entry_id}, count=1, block=timeout_ms)


def _last(info: Any) -> str:
    """The id of the last entry that a stream ever got."""
    return START if isinstance(info, ResponseError) else info["last-generated-id"].decode()


def _parts(entry_id: str) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number)


def _counts(info: Any) -> tuple[int, int]:
    """How many entries a stream ever got, and how many it has; both 0 if there is none."""
    if isinstance(info, ResponseError):
        if "no such key" in str(info):
            return 0, 0
        raise info
    return info["entries-added"], info["length"]
