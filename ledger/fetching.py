"""Fetches what the journal does not carry: the payload of an accepted execution, and the result of one that has ended.

In the flow: the consumer asks for those of the entries that it is about to write, and they are committed together. So
the journal stays small, and accepting costs nothing more. Redis deletes a payload when its execution ends: of one that
ended before its entry was read, none is kept, and none is needed to run it again. A result stays in Redis for a day.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..scheduler.engine.engine import Engine
from ..scheduler.engine.journal import JournalEntry, Verb
from ..scheduler.keys import DEFAULT_LANE
from ..scheduler.model.states import TERMINAL, State
from ..scheduler.transport.reading import Reader, repeated
from .executions import BEGINS, Execution, Place

_A_TRIP: Final = 50
_BYTES_A_PAGE: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Payload:
    """What an execution needs to run."""

    execution_id: str
    event: bytes | None
    message: bytes | None
    timeout_ms: int
    expires_ms: int | None
    """The last millisecond in which it may start; None: any."""
    lasting: str
    """How long its id stays known after its end, as the scripts keep it."""

    @property
    def size_bytes(self) -> int:
        """How much there is of it."""
        return len(self.event or b"") + len(self.message or b"")


@dataclass(slots=True)
class Fetched:
    """What belongs to some entries of the journal."""

    begun: set[str] = field(default_factory=set[str])
    """The executions that were accepted: what the ledger has of earlier ones with their ids is no longer theirs."""
    payloads: dict[str, Payload] = field(default_factory=dict[str, Payload])
    results: dict[str, bytes] = field(default_factory=dict[str, bytes])
    entries: int = 0
    """To how many of the first entries it belongs: all, unless it became too much for one transaction."""


class Fetching(Reader):
    """Reads payloads and results of one queue. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, engine: Engine, *, keep_payloads: bool, keep_messages: bool) -> None:
        """Args: `keep_payloads`, whether to fetch payloads; `keep_messages`, whether also those of other lanes."""
        super().__init__(engine.scripts)
        self._keys = engine.scripts.keys
        self._keeps_payloads = keep_payloads
        self._keeps_messages = keep_messages

    def of(self, entries: Sequence[JournalEntry]) -> Fetched:
        """Fetch what belongs to some entries, or to as many of the first of them as one transaction can take."""
        fetched = Fetched(entries=len(entries))
        size_bytes = 0
        for start in range(0, len(entries), _A_TRIP):
            some = entries[start : start + _A_TRIP]
            payloads = self.payloads({each.execution_id for each in some if self._may_have_payload(each)})
            results = self._results({each.execution_id for each in some if _may_have_result(each)})
            fetched.begun |= {each.execution_id for each in some if each.verb in BEGINS}
            fetched.payloads |= payloads
            fetched.results |= results
            size_bytes += sum(each.size_bytes for each in payloads.values()) + sum(map(len, results.values()))
            if size_bytes > _BYTES_A_PAGE:
                fetched.entries = start + len(some)
                break
        return fetched

    def of_living(self, rows: Sequence[Execution]) -> tuple[dict[str, Payload], int]:
        """Fetch the payloads of those that live among some executions, or among as many as one transaction can take.

        Returns:
            The payloads by id, and to how many of the first executions they belong.
        """
        found: dict[str, Payload] = {}
        size_bytes = 0
        for start in range(0, len(rows), _A_TRIP):
            some = rows[start : start + _A_TRIP]
            payloads = self.payloads({row.execution_id for row in some if _lives(row) and self._keeps(row.lane)})
            found |= payloads
            size_bytes += sum(each.size_bytes for each in payloads.values())
            if size_bytes > _BYTES_A_PAGE:
                return found, start + len(some)
        return found, len(rows)

    def _keeps(self, lane: str | None) -> bool:
        return self._keeps_payloads and (self._keeps_messages or lane == DEFAULT_LANE)

    def _may_have_payload(self, entry: JournalEntry) -> bool:
        if not self._keeps(entry.fields.get("lane")):
            return False
        # A retry may have put another message in the place of the first.
        return entry.verb in BEGINS or (entry.verb == Verb.RETRY and self._keeps_messages)

    @repeated
    def payloads(self, execution_ids: Iterable[str]) -> dict[str, Payload]:
        """Return the payloads of those executions that Redis has, by id."""
        ids = sorted(execution_ids)
        if not ids:
            return {}
        pipeline = self._client.pipeline(transaction=False)
        for one in ids:
            pipeline.mget(self._keys.event(one), self._keys.message(one))
            pipeline.hmget(self._keys.meta(one), "accepted_at", "timeout_ms", "expires_at", "lasting")
        replies = iter(pipeline.execute())
        found: dict[str, Payload] = {}
        for one, (event, message), (accepted, timeout_ms, expires_ms, lasting) in zip(
            ids, replies, replies, strict=True
        ):
            if accepted is not None and (event is not None or message is not None):
                expires = None if expires_ms is None else int(float(expires_ms))
                found[one] = Payload(one, event, message, int(timeout_ms or 0), expires, (lasting or b"").decode())
        return found

    @repeated
    def _results(self, execution_ids: Iterable[str]) -> dict[str, bytes]:
        ids = sorted(execution_ids)
        if not ids:
            return {}
        found = self._client.mget([self._keys.result(one) for one in ids])
        return {one: result for one, result in zip(ids, found, strict=True) if result is not None}


def _lives(row: Execution) -> bool:
    return row.place is not Place.NOWHERE or row.state == State.SCHEDULED


def _may_have_result(entry: JournalEntry) -> bool:
    fields = entry.fields
    return fields.get("state") in TERMINAL and (fields.get("lane") == DEFAULT_LANE or fields.get("dead") == "1")
