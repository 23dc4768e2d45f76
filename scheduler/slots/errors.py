"""What `slot` raises besides the queue's own errors: the wait was too long, or somebody ended it."""

from ..model.errors import BandmasterError
from ..model.states import State


class SlotTimeout(BandmasterError, TimeoutError):
    """No slot was free in time; the place in the queue was given up."""

    def __init__(
        self,
        name: str,
        *,
        waited_seconds: float,
        before: int | None,
        held: int | None,
        limit: int | None,
        holds_one: bool = False,
        stopped_loop: bool = False,
    ):
        """Make one.

        Args:
            name: The slot's.
            waited_seconds: How long it waited.
            before: How many waited before it; None, as for the next two: Redis did not say.
            held: How many slots of its gate are held.
            limit: How many there are.
            holds_one: Whether the same thread or task holds a slot of this name.
            stopped_loop: Whether the wait stopped its thread's event loop.
        """
        waiting = "it is not known how many were" if before is None else f"{before} {'was' if before == 1 else 'were'}"
        holding = "" if held is None or limit is None else f", and {held} of {limit} slots are held"
        advice = "; its own thread or task holds one: take one slot around both" if holds_one else ""
        advice += "; the event loop of its thread stood still meanwhile: use `async with`" if stopped_loop else ""
        super().__init__(
            f"no slot {name!r} was free within {waited_seconds:.3g} s: {waiting} before it{holding}{advice}; wait "
            "longer, or raise the limit"
        )
        self.name = name
        self.waited_seconds = waited_seconds
        self.before = before
        self.held = held
        self.limit = limit


class SlotCancelled(BandmasterError):
    """The wait for a slot was ended from outside: it was cancelled, removed or expired."""

    def __init__(self, name: str, *, execution_id: str, state: State, reason: str):
        """Args: `execution_id`, empty if it was ended before Redis was told of it."""
        which = f" (execution {execution_id})" if execution_id else ""
        super().__init__(f"the wait for a slot {name!r}{which} was ended: {state}, {reason}")
        self.name = name
        self.execution_id = execution_id
        self.state = state
        self.reason = reason
