"""One wait for a slot, and the slot it leads to.

In the flow: made by the thread or task that wants the slot; the attendant's thread parks it, and completes its future
when it is granted. If the process dies, Redis ends it after a lease.
"""

import time
from concurrent.futures import Future

from ..engine.parking import Candidate
from ..events.slot import slot_event
from ..model.identifiers import slot_lane
from ..model.priority import Priority
from ..model.states import State

MAX_AGE_MARGIN_SECONDS = 60.0
"""How much longer than its timeout a wait lives in Redis, so that only the process itself ends it in time."""


class Entry:
    """One wait, and then one slot. Its changes are made under the desk's lock, if not said otherwise."""

    __slots__ = (
        "answered",
        "attempt",
        "before",
        "began",
        "execution_id",
        "future",
        "held",
        "is_cancelled",
        "is_given_up",
        "is_lost",
        "lane",
        "limit",
        "limit_in_force",
        "name",
        "nonce",
        "state",
        "taker",
        "timeout_seconds",
        "withdrawn",
    )

    def __init__(self, name: str, limit: int | None, timeout_seconds: float, taker: object = None) -> None:
        """Args: `taker`, what tells the thread or task that waits from others; None: nothing does."""
        self.name = name
        self.taker = taker
        self.lane = slot_lane(name)
        self.limit = limit
        """The limit that its code declares."""
        self.timeout_seconds = timeout_seconds
        self.began = time.monotonic()
        self.execution_id = ""
        """Empty until it is sent; another one if it was lost and is sent again."""
        self.future: Future[None] = Future()
        """Done when it is granted; fails if it cannot be any more."""
        self.answered: Future[None] = Future()
        """Done when Redis was asked once whether a slot is free."""
        self.withdrawn: Future[None] = Future()
        """Done when nothing of it is left in Redis, after it was given up."""
        for future in (self.future, self.answered, self.withdrawn):
            future.set_running_or_notify_cancel()  # so that nobody who waits for it can cancel it
        self.attempt = 0
        self.state = State.COMPLETED
        """How its slot ends when it is given back."""
        self.nonce = ""
        self.is_given_up = False
        self.is_lost = False
        self.is_cancelled = False
        self.before: int | None = None
        """When it was given up: how many waited before it, how many slots were held, of how many."""
        self.held: int | None = None
        self.limit_in_force: int | None = None

    @property
    def gate(self) -> str:
        """The gate that it has to pass."""
        return f"action:{self.name}"

    @property
    def waited_seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began

    def candidate(self) -> Candidate:
        """It as it is parked under its present id."""
        left_seconds = max(0.0, self.timeout_seconds - self.waited_seconds) + MAX_AGE_MARGIN_SECONDS
        return Candidate(
            execution_id=self.execution_id,
            lane=self.lane,
            band=int(Priority.NORMAL),
            action=self.name,
            max_age_ms=int(left_seconds * 1000),
            event=slot_event(self.execution_id, self.name),
            is_lasting=False,
        )
