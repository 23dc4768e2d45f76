"""One execution's row, and what an entry of the journal makes of it.

In the flow: the consumer reads the rows that a batch of entries is about, applies the entries in order, and writes the
rows back. Nothing here does I/O. A row that was made from a snapshot may already be ahead of the entries that follow:
applying them brings it through the same states again, to the same end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..scheduler.engine.journal import JournalEntry, Verb
from ..scheduler.engine.record import Record
from ..scheduler.model.priority import BAND_WIDTH_MS, Priority
from ..scheduler.model.states import HOLDING, TERMINAL, State

BEGINS: Final = frozenset({Verb.PARK, Verb.BURY})
"""Entries with which an execution begins; an earlier one may have had its id."""
OF_WHAT_WAS: Final = frozenset({Verb.DROP, Verb.FORGET})
"""Entries that tell nothing of an execution of which nothing else is known."""
_NO_CHANGE: Final = frozenset({Verb.REJECT, Verb.TELL})
_WAITS: Final = frozenset({State.PENDING, State.SCHEDULED})
_BEGIN_TO_WAIT: Final = frozenset({Verb.PARK, Verb.PROMOTE, Verb.RETRY, Verb.HAND_BACK, Verb.REAP})
"""Entries after which it waits anew; one of a later release may tell of something that it is while it waits."""


class Place(Enum):
    """Where an execution counts in the figures of its action's queue."""

    WAITING = "waiting"
    ACTIVE = "active"
    NOWHERE = "nowhere"


@dataclass(slots=True)
class Execution:
    """A row of `executions`. Times are Unix milliseconds of the Redis server's clock."""

    execution_id: str
    lane: str = ""
    action: str = ""
    user_id: str | None = None
    band: int | None = None
    gates: str = ""
    """The gates that its sender named, separated by newlines; those of its action and its user are not among them."""
    state: str = ""
    attempt: int = 0
    reason: str | None = None
    exit_code: int | None = None
    pod: str | None = None
    pod_uid: str | None = None
    dead: bool = False
    accepted_ms: int | None = None
    due_ms: int | None = None
    waiting_ms: int | None = None
    """Since when it waits, or waited last."""
    granted_ms: int | None = None
    started_ms: int | None = None
    """When a pod took it over."""
    ended_ms: int | None = None
    """When it ended. Of one that is lost: by then it had, in entries that were dropped unread."""
    lost_ms: int | None = None
    """When Redis was found not to know it any more, though no end was read."""
    revived_in: int | None = None
    """The journal that has it alive, though an earlier one told its end; it may have ended again since."""
    score: float | None = None
    """Its place among those that wait, by band and time; that of its last wait, if it does not."""

    @classmethod
    def from_meta(cls, execution_id: str, meta: dict[str, str]) -> "Execution":
        """Make a row from what Redis keeps of an execution."""
        record = Record.from_meta(execution_id, meta)
        return cls(
            execution_id=record.execution_id,
            lane=record.lane,
            action=record.action,
            user_id=record.user_id,
            band=Priority[record.priority] if record.priority else None,
            gates="\n".join(record.gates),
            state=record.state,
            attempt=record.attempt,
            reason=record.reason,
            pod=record.pod,
            pod_uid=meta.get("pod_uid"),
            accepted_ms=record.accepted_ms,
            due_ms=record.due_ms,
            waiting_ms=_whole(meta.get("waiting_since")) or record.accepted_ms,
            granted_ms=record.granted_ms,
            # It stays behind when the attempt ends, and the pod does not.
            started_ms=_whole(meta.get("handed_over_at")) if record.pod else None,
            ended_ms=record.ended_ms,
            score=float(meta["score"]) if meta.get("score") else None,
        )

    @property
    def place(self) -> Place:
        """Where it counts."""
        if self.lost_ms is not None:
            return Place.NOWHERE
        if self.state == State.PENDING:
            return Place.WAITING
        return Place.ACTIVE if self.state in HOLDING else Place.NOWHERE

    @property
    def all_gates(self) -> list[str]:
        """The gates that it holds together with its slot."""
        of_user = [f"user:{self.user_id}"] if self.user_id else []
        return list(dict.fromkeys([f"action:{self.action}", *of_user, *self.gates.splitlines()]))

    def apply(self, entry: JournalEntry) -> bool:
        """Take over what an entry tells of this execution.

        Returns:
            Whether the entry changes an execution at all: a refusal, for one, says nothing of the one it names.
        """
        fields, at_ms = entry.fields, entry.at_ms
        # A forgotten grant with a band is an earlier one's: the execution that has its name now lives on.
        if entry.verb in _NO_CHANGE or (entry.verb == Verb.FORGET and fields.get("band")):
            return False
        if entry.verb in BEGINS:
            self._begin_anew(fields, at_ms)
        # Both know no more than the id if the record was gone; the attempt that they name is none.
        if entry.verb == Verb.FORGET:
            self.lost_ms = at_ms
            return True
        if entry.verb == Verb.DROP:
            if not self.dead or not is_drop_of(fields, self.ended_ms):
                return False
            self.dead = False
            return True
        if fields.get("band"):
            self.band = int(fields["band"])
        self.attempt = int(fields.get("attempt") or self.attempt)
        self._enter(fields.get("state", self.state), entry)
        return True

    def _begin_anew(self, fields: dict[str, str], at_ms: int) -> None:
        """A name may be used again when the execution that had it has ended."""
        fresh = Execution(self.execution_id)
        for name in self.__slots__:
            setattr(self, name, getattr(fresh, name))
        self.lane, self.action = fields.get("lane", ""), fields.get("action", "")
        self.user_id, self.gates = fields.get("user") or None, fields.get("gates", "")
        self.accepted_ms = at_ms
        self.due_ms = int(float(fields["due"])) if fields.get("due") else None

    def _enter(self, state: str, entry: JournalEntry) -> None:
        fields, at_ms = entry.fields, entry.at_ms
        if not self.lane:
            # Its beginning was not read.
            self.lane, self.action = fields.get("lane", ""), fields.get("action", "")
            self.user_id = fields.get("user") or None
        self.state, self.lost_ms = state, None
        is_of_state = entry.verb != Verb.REPRIORITISE and (entry.verb != Verb.RESTORE or state in TERMINAL)
        if "reason" in fields and is_of_state:
            self.reason = fields["reason"] or None
        if fields.get("score"):
            self.score = float(fields["score"])
        match entry.verb:
            case Verb.RESTORE:
                self.granted_ms = at_ms if state in HOLDING else self.granted_ms
            case Verb.ADMIT:
                self.granted_ms, self.started_ms, self.pod, self.pod_uid = at_ms, None, None, None
            case Verb.HAND_OVER:
                self.started_ms, self.pod, self.pod_uid = at_ms, fields.get("pod"), fields.get("pod_uid")
            case Verb.REPRIORITISE:
                if self.score is not None and not fields.get("score"):  # of an older release, which says none
                    self.score += (int(fields["band"]) - int(fields["from"])) * BAND_WIDTH_MS
            case _:
                if state in _WAITS and entry.verb in _BEGIN_TO_WAIT:
                    self.waiting_ms = at_ms
                if state == State.SCHEDULED and fields.get("delay_ms"):
                    self.due_ms = at_ms + int(float(fields["delay_ms"]))
        if state in TERMINAL:
            # What is restored ended earlier.
            self.ended_ms = int(float(fields.get("ended_at") or at_ms))
            self.dead = fields.get("dead") == "1"
            if entry.verb == Verb.RESTORE:
                self.revived_in = None
        else:
            self.ended_ms = None


def is_drop_of(fields: Mapping[str, str], ended_ms: int | None) -> bool:
    """Whether the dead letter that was dropped was this end: an earlier one may have had its id; and an end that was to
    be told, and was one too many, may be a dead letter still.
    """
    return int(float(fields.get("dead_at") or 0)) >= (ended_ms or 0)


def cleaned(fields: dict[str, str]) -> dict[str, str]:
    """Texts as both databases store them: PostgreSQL has none with NUL, and a program's last words may be anything."""
    if any("\0" in value for value in fields.values()):
        return {name: value.replace("\0", "\ufffd") for name, value in fields.items()}
    return fields


def _whole(text: str | None) -> int | None:
    return int(float(text)) if text else None
