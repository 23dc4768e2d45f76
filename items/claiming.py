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

from sqlalchemy import Connection, bindparam, select, text, update

from ..ledger.schema.tables import queue_items
from .bounds import CLAIMED_MAX_BYTES
from .errors import ClaimOver, ItemsRefused, QueueInactive
from .model import Item, item_of
from .picking import ORDER, pick
from .queues import queue_in
from .returning import give_back
from .states import Status
from .store import now_of

_LOCK_KEYS: Final = text(
    "SELECT pg_advisory_xact_lock(hashtextextended(key, 0)) FROM unnest(CAST(:keys AS text[])) AS given(key)"
)


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
    at_ms = now_of(connection)
    first: dict[str, Claim] = {}
    for claim in claims:
        if claim.key is not None:
            first.setdefault(claim.key, claim)
    # A request that came again while its first sending still waits is the same claim.
    once = [claim for claim in claims if claim.key is None or first[claim.key] is claim]
    new = _given_before(connection, once, at_ms)
    of_queue: defaultdict[str | int, list[Claim]] = defaultdict(list)
    for claim in new:
        of_queue[claim.queue].append(claim)
    # In one order, so that two transactions do not wait for each other.
    for name in sorted(of_queue, key=str):
        _claim_of(connection, name, of_queue[name], at_ms)
    for claim in claims:
        if claim.key is not None:
            claim.items, claim.refused = first[claim.key].items, first[claim.key].refused


def _given_before(connection: Connection, claims: Sequence[Claim], at_ms: int) -> list[Claim]:
    """Give claims again what they got before; return the others."""
    keys = sorted({claim.key for claim in claims if claim.key is not None})
    if not keys:
        return list(claims)
    if connection.dialect.name == "postgresql":
        # The same request may be here twice at once, by two processes.
        connection.execute(_LOCK_KEYS, {"keys": keys})
    of = queue_items.c
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


def _claim_of(connection: Connection, name: str | int, claims: Sequence[Claim], at_ms: int) -> None:
    try:
        queue = queue_in(connection, name)
        if not queue.is_active:
            raise QueueInactive(queue.name)
    except ItemsRefused as error:
        for claim in claims:
            claim.refused = error
        return
    give_back(connection, queue.queue_id, at_ms)
    of = queue_items.c
    wanted = sum(claim.count for claim in claims)
    rows = pick(connection, queue.queue_id, wanted)
    written: list[dict[str, Any]] = []
    at = 0
    for claim in claims:
        lease_ms = (claim.lease_seconds or queue.lease_seconds) * 1000
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
                "locked_until_ms": at_ms + lease_ms,
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
        names = [name for name in written[0] if name != "picked"]
        handed_out = update(queue_items).where(of.item_id == bindparam("picked"))
        connection.execute(handed_out.values({name: bindparam(name) for name in names}), written)
