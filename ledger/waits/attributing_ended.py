"""Attributes waits that have ended, each as the answer about its execution tells it.

In the flow: `summing.py` has found the transitions that may have ended one, and sums what is told here. What is not
known for certain is said to be incomplete. Nothing here writes.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from ...scheduler.keys import DEFAULT_LANE
from ..queries.looking import execution_of, steps_of
from .ended import Ended, Owner, owner_of
from .episodes import wait_that_ended
from .in_force import InForce
from .missing import Missing
from .sharing import SharedHolds
from .spans import Span
from .sums import Counted
from .telling import STEPS, Waited, wait_told


class Attributing:
    """Attributes some of them in one transaction that reads."""

    def __init__(
        self,
        connection: Connection,
        ended: Sequence[Ended],
        owners: Mapping[str, Owner],
        now: Mapping[str, InForce],
        shared: SharedHolds,
    ) -> None:
        """Reads of which times something is missing.

        Args:
            connection: Of the transaction.
            ended: The transitions that may have ended a wait.
            owners: Whose the executions are, by id.
            now: What holds now, by lane.
            shared: Who held what, for all waits of a page.
        """
        self._connection = connection
        self._owners = owners
        self._now = now
        self._shared = shared
        since_ms = min((owner.accepted_ms for owner in owners.values()), default=0)
        self._missing = Missing(connection, Span(since_ms, max((each.at_ms for each in ended), default=0)))

    def waited(self, ended: Ended) -> Waited | Counted:
        """Attribute the wait that a transition ended."""
        unknown = Counted.INCOMPLETE if ended.is_wait_for_certain else Counted.NO_WAIT
        owner, row = owner_of(ended, self._owners), execution_of(self._connection, ended.execution_id)
        if owner is None or row is None:
            return unknown
        try:
            steps = steps_of(self._connection, ended.execution_id, STEPS, from_ms=owner.accepted_ms, up_to=ended.place)
            wait = wait_that_ended(steps, row)
        except (KeyError, TypeError, ValueError, OverflowError):
            # A field is no number: no script of this release wrote it so.
            return unknown
        if wait is None:
            return unknown
        # Of a user who is being forgotten, the gate has the one name and its changes the other.
        if row.user_id != owner.user_id:
            return Counted.INCOMPLETE
        if wait.span.since_ms < 0 or self._missing.overlaps(wait.span):
            return Counted.INCOMPLETE
        if not wait.span.length_ms:
            return Waited(wait, [], sampled=False)
        return wait_told(self._connection, row, self._now[row.lane or DEFAULT_LANE], wait, self._shared)
