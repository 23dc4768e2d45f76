"""One execution as the naive model sees it."""

from dataclasses import dataclass

from bandmaster.scheduler.priority import BAND_WIDTH_MS
from bandmaster.scheduler.states import HOLDING, TERMINAL, WAITING, State


@dataclass(slots=True)
class Execution:
    """What was accepted, and where it stands."""

    execution_id: str
    lane: str
    band: int
    action: str
    user: str
    own_gates: tuple[str, ...]
    timeout_ms: int
    state: State = State.PENDING
    has_payload: bool = True
    accepted_at: float = 0.0
    """What its score is made of: its place in the order."""
    due: float = 0.0
    waiting_since: int = 0
    paused_before: int = 0
    attempt: int = 0
    crashes: int = 0
    infrastructure: int = 0
    lease: int = 0
    pod_uid: str = ""
    cancel: State | None = None
    dead: bool = False

    @property
    def gates(self) -> list[str]:
        """All it has to pass."""
        return [f"action:{self.action}", *([f"user:{self.user}"] if self.user else []), *self.own_gates]

    @property
    def order(self) -> tuple[int, float]:
        """The lower starts first."""
        return self.band, self.accepted_at

    @property
    def score(self) -> float:
        """The same in one number."""
        return self.band * BAND_WIDTH_MS + self.accepted_at

    @property
    def waits(self) -> bool:
        """Without a slot, may still run."""
        return self.state in WAITING

    @property
    def holds(self) -> bool:
        """With a slot."""
        return self.state in HOLDING

    @property
    def ended(self) -> bool:
        """For ever."""
        return self.state in TERMINAL
