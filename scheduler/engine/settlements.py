"""The settlements of a grant, as frozen values: a release with an outcome, or a retry, after which it waits again."""

from dataclasses import dataclass
from typing import Final, Literal

from ..model.states import State
from ..transport.direct_connection import Argument

RetryKind = Literal["retry", "requeue", "hand_back", "infrastructure"]
MOST_SETTLEMENTS: Final = 64
"""How many settlements one call takes; more would block the server for too long."""


@dataclass(frozen=True, slots=True)
class Release:
    """A settlement that ends the execution."""

    execution_id: str
    attempt: int | None
    """The attempt of the grant; None for the current one."""
    state: State
    """A terminal state."""
    holder: str = ""
    """The grant's nonce, or `pod_holder` of the pod's UID; empty if the caller knows only the attempt."""
    reason: str = ""
    """One word."""
    result: bytes = b""
    """The outcome as JSON."""
    only: State | None = None
    """Act only in this state; None for any that holds a slot."""
    dead: bool = False
    """Whether to keep the execution as a dead letter."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of exchange.lua for this settlement."""
        attempt: Argument = "" if self.attempt is None else self.attempt
        dead = "1" if self.dead else ""
        holder, only = self.holder, self.only or ""
        return (self.execution_id, "release", attempt, holder, self.state, only, dead, 0, self.reason, "", self.result)


@dataclass(frozen=True, slots=True)
class Retry:
    """A settlement after which the execution waits again."""

    execution_id: str
    attempt: int
    """The attempt of the grant."""
    kind: RetryKind
    """`retry`, `requeue` and `hand_back` act on RUNNING; `infrastructure`, of which there is a maximum, also on POD.
    Without a delay, `requeue` goes to the end of its band, the others to their original place."""
    holder: str = ""
    """As for a release."""
    delay_ms: int = 0
    """How long, from now, the execution may not start."""
    reason: str = ""
    """One word."""
    message: bytes = b""
    """A message that replaces the stored one."""
    result: bytes = b""
    """A result as JSON, kept if the execution ends here: it was cancelled, or the maximum is reached."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of exchange.lua for this settlement."""
        only = "" if self.kind == "infrastructure" else State.RUNNING
        held = (self.execution_id, self.kind, self.attempt, self.holder, "", only, "")
        return (*held, self.delay_ms, self.reason, self.message, self.result)


Settlement = Release | Retry
