"""How a slot is given back: with an outcome, or to wait again. Frozen values, no I/O."""

from dataclasses import dataclass
from typing import Final, Literal

from ..model.states import State
from ..transport.direct_connection import Argument

RetryKind = Literal["retry", "requeue", "hand_back", "infrastructure"]
MOST_SETTLEMENTS: Final = 64
"""In one call; more would keep the server from others for too long."""


@dataclass(frozen=True, slots=True)
class Release:
    """The execution ends."""

    execution_id: str
    attempt: int | None
    """The grant; None for the current one."""
    state: State
    """A terminal state."""
    holder: str = ""
    """The grant's nonce, or `pod_holder` of the pod's UID; empty for who knows the attempt alone."""
    reason: str = ""
    """One word."""
    result: bytes = b""
    """The outcome as JSON."""
    only: State | None = None
    """Act only in this state; None for any that holds a slot."""
    dead: bool = False
    """Keep it as a dead letter."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """As exchange.lua takes it."""
        attempt: Argument = "" if self.attempt is None else self.attempt
        dead = "1" if self.dead else ""
        holder, only = self.holder, self.only or ""
        return (self.execution_id, "release", attempt, holder, self.state, only, dead, 0, self.reason, "", self.result)


@dataclass(frozen=True, slots=True)
class Retry:
    """The execution waits again."""

    execution_id: str
    attempt: int
    """The grant."""
    kind: RetryKind
    """`retry`, `requeue` and `hand_back` from RUNNING; `infrastructure`, bounded, also from POD. Without a delay
    `requeue` goes to the end of its band, the others to their place."""
    holder: str = ""
    """As that of a release."""
    delay_ms: int = 0
    """Not before this long from now."""
    reason: str = ""
    """One word."""
    message: bytes = b""
    """In place of the stored message."""
    result: bytes = b""
    """As JSON, kept if the execution ends here: it was cancelled, or the bound is reached."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """As exchange.lua takes it."""
        only = "" if self.kind == "infrastructure" else State.RUNNING
        held = (self.execution_id, self.kind, self.attempt, self.holder, "", only, "")
        return (*held, self.delay_ms, self.reason, self.message, self.result)


Settlement = Release | Retry
