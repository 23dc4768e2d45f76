"""``History``: what the ledger knows, in the form in which Redis is rebuilt from it.

In the flow: `rebuilding.py` reads it page by page. Reads only; each page is a transaction of its own, so a long rebuild
does not hold up the consumer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, exists, or_, select

from ...scheduler.engine.restoring import Known
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.priority import BAND_WIDTH_MS, Priority
from ...scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from ..database import Database
from ..errors import LedgerEmpty
from ..schema.revisions import check
from ..schema.tables import action, changes, consumer, executions, firings, payloads, queue_stats, results, transitions
from ..settling import LOST
from ..unrestored import REBUILD
from .lives import Life, lives_of

_ROWS_A_PAGE: Final = 200
_LIVING: Final = sorted(WAITING | HOLDING)
_ENDED: Final = sorted(TERMINAL)
_GIVEN_BACK: Final = and_(
    executions.c.lost_ms.is_not(None),
    exists().where(firings.c.execution_id == executions.c.execution_id, firings.c.state == LOST),
)


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of one limit, pause or setting."""

    verb: str
    name: str
    value: str | None
    at_ms: int
    by: str


class History:
    """Reads one ledger. Each method raises LedgerUnavailable if the database does not answer."""

    def __init__(self, database: Database) -> None:
        """Reads whose ledger it is, and how far it has come.

        Raises:
            SchemaMismatch: If its tables are of another release.
            LedgerEmpty: If nothing was ever written into it.
        """
        self._database = database
        with database.reading() as connection:
            check(connection)
            row = connection.execute(select(consumer.c.queue, consumer.c.entry_id)).one_or_none()
        if row is None or not row.entry_id:
            raise LedgerEmpty(database.shown_url)
        self.queue: Final[str] = row.queue
        self.position: Final[str] = row.entry_id

    def changes(self) -> list[LastChange]:
        """The operators' last change of each limit, pause and setting, in order."""
        order = (changes.c.journal_id, changes.c.entry_ms, changes.c.entry_number)
        last: dict[tuple[str, str], LastChange] = {}
        by_operators = select(changes).where(or_(changes.c.changed_by.is_(None), changes.c.changed_by != REBUILD))
        for row in self._rows(by_operators.order_by(*order)):
            kind = "pause" if row.verb == "resume" else row.verb
            change = LastChange(row.verb, row.name, row.value_after, row.at_ms, row.changed_by or "")
            last.pop((kind, row.name), None)
            last[kind, row.name] = change
        return list(last.values())

    def totals(self) -> list[tuple[str, int, int]]:
        """Each action with its lifetime totals: how many were accepted, and how many have ended."""
        stored = select(action.c.ref, queue_stats.c.total_enqueued, queue_stats.c.total_completed)
        rows = self._rows(stored.join_from(action, queue_stats))
        return [(row.ref, row.total_enqueued, row.total_completed) for row in rows]

    def living(self, now_ms: int) -> Iterator[Known]:
        """Executions that have not ended, also those that were found to be lost, at their latest attempt that ever was.

        The rows may be those of a server with older data: whose end was committed before is told as ended. Those whose
        items went back are left out: others may work on them.
        """
        for page in self._pages(executions.c.state.in_(_LIVING), executions.c.ended_ms.is_(None), ~_GIVEN_BACK):
            lives = self._lives({row[0]: row.accepted_ms for row in page})
            for row in page:
                yield _lived(_known(row, now_ms), lives.get(row[0]), now_ms)

    def ended_unread(self) -> Iterator[Known]:
        """Executions that have ended in entries that were dropped unread, in the last state that was read."""
        for page in self._pages(executions.c.state.in_(_LIVING), executions.c.ended_ms.is_not(None)):
            yield from (_known(row, row.ended_ms) for row in page)

    def given_back(self) -> Iterator[Known]:
        """Executions that were lost, and whose items went back to their queue meanwhile."""
        for page in self._pages(executions.c.state.in_(_LIVING), executions.c.ended_ms.is_(None), _GIVEN_BACK):
            yield from (_known(row, 0) for row in page)

    def dead(self) -> Iterator[Known]:
        """Dead letters."""
        for page in self._pages(executions.c.dead.is_(True) & executions.c.state.in_(_ENDED)):
            yield from (_known(row, row.ended_ms) for row in page)

    def ended(self, since_ms: int, direct_since_ms: int) -> Iterator[Known]:
        """Executions that have ended and whose ids have to stay known.

        Args:
            since_ms: Those of the default lane, and those whose senders chose the id, if they ended later.
            direct_since_ms: The others, if they ended later.
        """
        lasts = or_(executions.c.lane == DEFAULT_LANE, payloads.c.lasting != "")
        ended_ms = executions.c.ended_ms
        for page in self._pages(
            executions.c.state.in_(_ENDED),
            executions.c.dead.is_(False),
            or_(ended_ms > direct_since_ms, and_(lasts, ended_ms > since_ms)),
        ):
            yield from (_known(row, row.ended_ms) for row in page)

    def ended_though_living(
        self, living: Iterable[str], metas: Callable[[list[str]], Sequence[dict[str, str]]]
    ) -> Iterator[Known]:
        """Executions that live in Redis and have ended since, as the ledger knows.

        Args:
            living: The ids of those that live in Redis.
            metas: Returns Redis's records of some.
        """
        every = sorted(living)
        for start in range(0, len(every), _ROWS_A_PAGE):
            ids = every[start : start + _ROWS_A_PAGE]
            found = {one: meta for one, meta in zip(ids, metas(ids), strict=True) if meta.get("accepted_at")}
            accepted_ms = {one: int(float(meta["accepted_at"])) for one, meta in found.items()}
            for one, life in self._lives(accepted_ms).items():
                if life.end_state is not None:
                    meta = found[one]
                    yield Known(
                        one,
                        State(life.end_state),
                        meta["lane"],
                        int(meta["band"]),
                        meta["action"],
                        meta.get("user"),
                        tuple(meta.get("gates", "").splitlines()),
                        life.attempt,
                        life.end_reason or "",
                        accepted_ms[one],
                        ended_ms=life.ended_ms,
                        dead=life.is_dead,
                        timeout_ms=int(meta.get("timeout_ms") or 0),
                        lasting=meta.get("lasting", ""),
                    )

    def _lives(self, accepted_ms: Mapping[str, int | None]) -> dict[str, Life]:
        order = (transitions.c.journal_id, transitions.c.entry_ms, transitions.c.entry_number)
        told = select(transitions).where(transitions.c.execution_id.in_(list(accepted_ms)))
        return lives_of(self._rows(told.order_by(*order)), accepted_ms)

    def _pages(self, *conditions: ColumnElement[bool]) -> Iterator[Sequence[Row[Any]]]:
        found = select(executions, payloads, results.c.result).outerjoin_from(
            executions, payloads, payloads.c.execution_id == executions.c.execution_id
        )
        found = found.outerjoin(results, results.c.execution_id == executions.c.execution_id)
        found = found.where(*conditions).order_by(executions.c.execution_id).limit(_ROWS_A_PAGE)
        after = ""
        while page := self._rows(found.where(executions.c.execution_id > after)):
            yield page
            after = page[-1][0]

    def _rows(self, query: Any) -> Sequence[Row[Any]]:
        with self._database.reading() as connection:
            return connection.execute(query).all()


def _known(row: Row[Any], now_ms: int) -> Known:
    band = Priority.NORMAL if row.band is None else row.band
    lives = row.state not in TERMINAL
    needs_payload = lives or row.dead
    return Known(
        row[0],
        State(row.state),
        row.lane,
        band,
        row.action,
        row.user_id,
        tuple(row.gates.splitlines()),
        row.attempt,
        "" if lives and row.state != State.CANCELLING else row.reason or "",
        row.accepted_ms or 0,
        score=_score(row, band, now_ms) if lives else None,
        due_ms=(row.due_ms or now_ms) if row.state == State.SCHEDULED else None,
        ended_ms=None if lives else row.ended_ms,
        dead=row.dead and not lives,
        timeout_ms=row.timeout_ms or 0,
        expires_ms=row.expires_ms,
        lasting=row.lasting or "",
        pod=row.pod,
        pod_uid=row.pod_uid,
        event=bytes(row.event or b"") if needs_payload else b"",
        message=bytes(row.message or b"") if needs_payload else b"",
        result=bytes(row.result or b""),
    )


def _lived(known: Known, life: Life | None, now_ms: int) -> Known:
    """An execution whose row says that it lives, as all that was committed tells of it."""
    if life is None:
        return known
    if life.end_state is not None:
        return replace(
            known,
            state=State(life.end_state),
            attempt=max(known.attempt, life.attempt),
            reason=life.end_reason or "",
            score=None,
            due_ms=None,
            ended_ms=life.ended_ms,
            dead=life.is_dead,
        )
    if life.state is None or life.attempt <= known.attempt:
        return known
    state = State(life.state)
    return replace(
        known,
        state=state,
        attempt=life.attempt,
        reason=life.reason or "" if state is State.CANCELLING else "",
        due_ms=(known.due_ms or now_ms) if state is State.SCHEDULED else None,
        pod=life.pod,
        pod_uid=life.pod_uid,
    )


def _score(row: Row[Any], band: int, now_ms: int) -> float:
    # Its beginning may have been among entries that were dropped unread.
    return row.score or float(band * BAND_WIDTH_MS + (row.accepted_ms or row.waiting_ms or now_ms))
