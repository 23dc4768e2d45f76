"""One execution in memory, from its acceptance to its end.

In the flow: `MemoryQueue` makes it of a candidate and moves it from state to state; the consumer hands out its message.
"""

from dataclasses import dataclass, field

from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State


@dataclass(slots=True, eq=False)
class Execution:
    """An execution that was accepted."""

    candidate: Candidate
    message: bytes
    """The message as it was sent."""
    state: State = State.PENDING
    place: int = 0
    """Its place in its band: the lower starts first."""
    grant: Grant | None = None
    """The last grant, which `current_grant()` returns to the body."""
    again: "tuple[Candidate, bytes] | None" = None
    """A noted retry, which replaces candidate and message when the body is over."""
    gates: frozenset[str] = field(init=False)
    """All gates that it holds while it runs; the same for each attempt."""

    def __post_init__(self) -> None:
        user = self.candidate.user_id
        users = [f"user:{user}"] if user else []
        self.gates = frozenset([f"action:{self.candidate.action}", *users, *self.candidate.gates])

    @property
    def order(self) -> tuple[int, int]:
        """The sort key: the lower starts first."""
        return self.candidate.band, self.place
