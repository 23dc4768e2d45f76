"""One execution as the naive model sees it."""

from dataclasses import dataclass, field

from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from bandmaster.scheduler.model.unique import UniqueKey

EVENTS_LANE = "executions"


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
    parent: str = ""
    unique: UniqueKey | None = None
    state: State = State.PENDING
    has_event: bool = False
    has_message: bool = False
    accepted_at: float = 0.0
    """What its score is made of: its place in the order."""
    time: float | None = None
    """What orders it beside other lanes, once it waited in a fair one."""
    due: float = 0.0
    waiting_since: int = 0
    band_since: int = 0
    """When it was last moved to another band while it waited."""
    expires_at: int | None = None
    attempt: int = 0
    crashes: int = 0
    infrastructure: int = 0
    lease: int = 0
    nonce: str = ""
    pod_uid: str = ""
    cancel: State | None = None
    sent: set[str] = field(default_factory=set[str])
    """Ids that a hook of this one sent: they are known as long as its record is."""
    dead_at: int | None = None
    """When it became a dead letter, if it is one."""
    untold_from: int | None = None
    """From when, on the clock of leases, its end may be collected from its lane's outbox, if it is there."""

    @property
    def has_payload(self) -> bool:
        """Whether there is still something to run."""
        return self.has_event or self.has_message

    @property
    def is_kept(self) -> bool:
        """Ended, and all of it is there still."""
        return self.dead_at is not None or self.untold_from is not None

    def lose_payload(self) -> None:
        """Nothing to run any more."""
        self.has_event = self.has_message = False

    @property
    def gates(self) -> list[str]:
        """All it has to pass."""
        return [f"action:{self.action}", *([f"user:{self.user}"] if self.user else []), *self.own_gates]

    @property
    def has_record(self) -> bool:
        """Whether more is known of it than how it ended."""
        return not self.ended or self.is_kept or self.lane == EVENTS_LANE

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
