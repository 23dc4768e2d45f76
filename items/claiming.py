"""Hands out items, atomically: several claims in one transaction, each item to one of them (D38).

In the flow: `joining` brings the claims of a process that wait at the same time. The order is priority (larger first),
then the deadline (none last), then acceptance (D40). On PostgreSQL each row is locked as it is picked, and rows that
others are at are passed over; on SQLite the transaction has the whole database. The lease is by the database's clock;
a fence grows with each claim, so that a late holder is known. If the answer is lost, the same claim with the same key
gets the same items as long as they are held by it (D39). If the process dies, nothing was handed out, or it was, and
the lease ends.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select, text, true, update

from ..ledger.database import now_ms
from ..ledger.schema.tables import item_queues, queue_items
from .bounds import CLAIMED_MAX_BYTES
from .errors import ClaimOver, ItemsRefused, QueueInactive, QueueUnknown
from .model import Item, item_of
from .picking import ORDER, pick
from .returning import give_back, is_due
from .states import Status
from .store import now_of

_LOCK_KEYS: Final = text(
    "SELECT pg_advisory_xact_lock(hashtextextended(key, 0)) FROM unnest(CAST(:keys AS text[])) AS given(key)"
)
_CLOCK: Final = select(now_ms().label("now_ms")).subquery("clock")
# A clock of its own, since no index is asked of a function whose value may change meanwhile.
_QUEUE: Final = select(
    item_queues, _CLOCK.c.now_ms, is_due(item_queues.c.queue_id, _CLOCK.c.now_ms).label("is_due")
).join_from(item_queues, _CLOCK, true())
_BY_ID: Final = _QUEUE.where(item_queues.c.queue_id == bindparam("wanted"))
_BY_NAME: Final = _QUEUE.where(item_queues.c.name == bindparam("wanted"))
_EACH: Final = update(queue_items).where(queue_items.c.item_id == bindparam("picked"))
_TOGETHER: Final = text("""
    UPDATE queue_items
    SET status = 'IN_PROGRESS', locked_by_robot_id = given.robot_id, locked_at_ms = :at_ms,
        locked_until_ms = given.until_ms, fence = fence + 1, claim_key = given.claim_key, job_id = NULL,
        progress = NULL, revision = revision + 1, updated_ms = :at_ms
    FROM unnest(CAST(:ids AS text[]), CAST(:robots AS text[]), CAST(:untils AS bigint[]), CAST(:claim_keys AS text[]))
        AS given(item_id, robot_id, until_ms, claim_key)
    WHERE queue_items.item_id = given.item_id COLLATE "C"
""")
"""On PostgreSQL: one statement, however many items are claimed."""


@dataclass(slots=True)
class Claim:
    """One claim, and what came of it."""

    queue: str | int
    """The queue's name, or its id."""
    robot_id: str
    count: int = 1
    """How many items at most."""
    lease_seconds: int | None = None
    """None: as the queue says."""
    key: str | None = None
    """A digest of who asks and of the key of the request; None: it has none, and a lost answer is a lost lease."""
    items: list[Item] = field(default_factory=list[Item])
    refused: ItemsRefused | None = None


def claim_all(connection: Connection, claims: Sequence[Claim]) -> None:
    """Hand out items to claims, in their order; each gets its items or its refusal.

    Args:
        connection: Of a transaction that writes.
        claims: The claims. What an earlier try gave them is forgotten.
    """
    for claim in claims:
        claim.items, claim.refused = [], None
    first: dict[str, Claim] = {}
    for claim in claims:
        if claim.key is not None:
            first.setdefault(claim.key, claim)
    # A request that came again while its first sending still waits is the same claim.
    once = [claim for claim in claims if claim.key is None or first[claim.key] is claim]
    new = _given_before(connection, once)
    of_queue: defaultdict[str | int, list[Claim]] = defaultdict(list)
    for claim in new:
        of_queue[claim.queue].append(claim)
    # In one order, so that two transactions do not wait for each other.
    for name in sorted(of_queue, key=str):
        _claim_of(connection, name, of_queue[name])
    for claim in claims:
        if claim.key is not None:
            claim.items, claim.refused = first[claim.key].items, first[claim.key].refused


def _given_before(connection: Connection, claims: Sequence[Claim]) -> list[Claim]:
    """Give claims again what they got before; return the others."""
    keys = sorted({claim.key for claim in claims if claim.key is not None})
    if not keys:
        return list(claims)
    if connection.dialect.name == "postgresql":
        # The same request may be here twice at once, by two processes.
        connection.execute(_LOCK_KEYS, {"keys": keys})
    at_ms, of = now_of(connection), queue_items.c
    before: defaultdict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(select(queue_items).where(of.claim_key.in_(keys)).order_by(*ORDER)):
        before[row.claim_key].append(row)
    new: list[Claim] = []
    for claim in claims:
        rows = before.get(claim.key or "", [])
        held = [row for row in rows if row.status == Status.IN_PROGRESS and row.locked_until_ms > at_ms]
        claim.items = [item_of(row) for row in held]
        if not rows:
            new.append(claim)
        elif not held:
            claim.refused = ClaimOver(rows[0].item_id)
    return new


def _claim_of(connection: Connection, name: str | int, claims: Sequence[Claim]) -> None:
    asked = connection.execute(_BY_ID if isinstance(name, int) else _BY_NAME, {"wanted": name}).one_or_none()
    if asked is None:
        _refuse(claims, QueueUnknown(name))
        return
    if not asked.is_active:
        _refuse(claims, QueueInactive(asked.name))
        return
    at_ms: int = asked.now_ms
    if asked.is_due:
        give_back(connection, asked.queue_id, at_ms)
    rows = pick(connection, asked.queue_id, sum(claim.count for claim in claims))
    written: list[dict[str, Any]] = []
    at = 0
    for claim in claims:
        until_ms = at_ms + (claim.lease_seconds or asked.lease_seconds) * 1000
        size = 0
        while at < len(rows) and len(claim.items) < claim.count:
            row = rows[at]
            size += len((row.payload or "").encode())
            if claim.items and size > CLAIMED_MAX_BYTES:
                break
            changed: dict[str, Any] = {
                "status": Status.IN_PROGRESS,
                "locked_by_robot_id": claim.robot_id,
                "locked_at_ms": at_ms,
                "locked_until_ms": until_ms,
                "fence": row.fence + 1,
                "claim_key": claim.key,
                # An execution may have worked on it before.
                "job_id": None,
                "progress": None,
                "revision": row.revision + 1,
                "updated_ms": at_ms,
            }
            claim.items.append(item_of(row, **changed))
            written.append({"picked": row.item_id, **changed})
            at += 1
    if written:
        _write(connection, written, at_ms)


def _refuse(claims: Sequence[Claim], refused: ItemsRefused) -> None:
    for claim in claims:
        claim.refused = refused


def _write(connection: Connection, written: list[dict[str, Any]], at_ms: int) -> None:
    if connection.dialect.name != "postgresql":
        connection.execute(_EACH, written)
        return
    columns = {"ids": "picked", "robots": "locked_by_robot_id", "untils": "locked_until_ms", "claim_keys": "claim_key"}
    given = {name: [each[column] for each in written] for name, column in columns.items()}
    connection.execute(_TOGETHER, given | {"at_ms": at_ms})
