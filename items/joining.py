"""``Claiming``: joins the claims of one process that come at the same time into one transaction.

In the flow: the routes call it from many threads. While one transaction runs, the claims that come wait together; the
next thread in turn takes all of them with it, and the others find theirs done. So a process makes one statement of
many, and no two threads of it wait for each other's rows. If the transaction fails, each of its claims does.
"""

import threading
from dataclasses import dataclass, field

from sqlalchemy import Connection

from .bounds import MOST_JOINED
from .checks import check_fields
from .claiming import Claim, claim_all
from .model import Item
from .names import check_robot_id
from .store import Store


@dataclass(slots=True, eq=False)
class _Waiting:
    claim: Claim
    is_done: bool = False
    error: Exception | None = field(default=None)


class Claiming:
    """Claims from one ledger. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: list[_Waiting] = []

    def claim(self, claim: Claim) -> list[Item]:
        """Hand out items.

        Args:
            claim: What is wanted, and by whom.

        Returns:
            The items, in their order; none: nothing waits.

        Raises:
            QueueUnknown: If there is no such queue.
            QueueInactive: If it gives nothing.
            InvalidRequest: If the robot's name, the count or the lease is none.
            ClaimOver: If its key stands for items that are not held any more.
            LedgerError: If the database does not answer; items may have been handed out, and the same key gets them.
        """
        check_robot_id(claim.robot_id)
        check_fields({"count": claim.count})
        if claim.lease_seconds is not None:
            check_fields({"lease_seconds": claim.lease_seconds})
        mine = _Waiting(claim)
        with self._lock:
            self._waiting.append(mine)
        while not mine.is_done:
            with self._turn:
                if not mine.is_done:
                    self._run()
        if mine.error is not None:
            raise mine.error
        if claim.refused is not None:
            raise claim.refused
        return claim.items

    def _run(self) -> None:
        with self._lock:
            together, wanted = list[_Waiting](), 0
            while self._waiting and (not together or wanted + self._waiting[0].claim.count <= MOST_JOINED):
                wanted += self._waiting[0].claim.count
                together.append(self._waiting.pop(0))

        def work(connection: Connection) -> None:
            claim_all(connection, [each.claim for each in together])

        error: Exception | None = None
        try:
            self._store.write(work)
        except Exception as raised:  # noqa: BLE001  # whatever it is, each of them gets it
            error = raised
        for each in together:
            each.error = error
            each.is_done = True
