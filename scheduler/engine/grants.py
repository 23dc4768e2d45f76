"""What the transitions answer: grants, admissions, settlements, acceptances. Frozen values, no I/O."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..model.errors import QueueUnavailable
from ..model.states import State

GRANT_FIELDS: Final = 7
"""Of each grant in an answer."""


class Code(StrEnum):
    """What became of a call on an execution; the words are those of the scripts' headers."""

    OK = "OK"
    """It was done."""
    STALE = "STALE"
    """The grant is not the current one: a later attempt has overtaken it. Nothing was changed."""
    UNKNOWN = "UNKNOWN"
    """No such execution. Nothing was changed."""
    ENDED = "ENDED"
    """It is in a terminal state, which never changes."""
    NOT_HELD = "NOT_HELD"
    """It holds no slot, or not in the state that the call acts on. Nothing was changed."""
    NOT_WAITING = "NOT_WAITING"
    """It does not wait any more. Nothing was changed."""
    ERROR = "ERROR"
    """What Redis has of it is damaged: the transition failed, and was perhaps done half-way."""


class Renewal(StrEnum):
    """What became of one lease."""

    RENEWED = "RENEWED"
    CANCEL = "CANCEL"
    """Renewed, but the execution was asked to end."""
    STALE = "STALE"
    """The grant was lost."""
    ERROR = "ERROR"
    """What Redis has of it is damaged: not renewed."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A slot, under one attempt and one nonce: the fencing token of everything done under it."""

    execution_id: str
    attempt: int
    nonce: str
    """Of the call that admitted it: a server that came back with older data may give the same attempt twice."""
    lane: str
    lease_ms: int
    event: bytes | None
    """ExecutionRequestedEvent JSON, if it was enqueued as an event."""
    message: bytes | None
    """The Dramatiq message, if it was sent to an actor."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What one call to admit gave."""

    grants: list[Grant]
    more: bool
    """Call again: a bound of the call was reached; what is next comes after another lane's, which goes first; or none
    was wanted, and something may be eligible."""
    wait_ms: int | None
    """Until the next due time or lease end, if there is one."""
    untold: bool
    """Something may be collected from an outbox of these lanes; said to live consumers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one settlement."""

    code: Code
    state: State | None
    """The state the execution is in now; None if it is unknown."""
    error: str = ""
    """With ERROR, what failed."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one call gave back and took."""

    outcomes: list[Outcome]
    """One each settlement, in order."""
    failures: dict[str, str]
    """What was left out, since what Redis has of it is damaged, and what failed: lanes, and executions that were to be
    promoted, reaped or swept.
    """
    admission: Admission


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of one settlement, and what was admitted in the same call."""

    code: Code
    state: State | None
    """The state the execution is in now; None if it is unknown."""
    grants: list[Grant]


@dataclass(frozen=True, slots=True)
class HandOver:
    """What became of a hand-over to a pod."""

    code: Code
    state: State | None
    is_wanted: bool
    """The pod, whoever created it, is the current attempt's and shall run; else it has to be deleted."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """What a cancellation found."""

    code: Code
    state: State | None
    attempt: int
    pod: str | None
    pod_uid: str | None


@dataclass(frozen=True, slots=True)
class Parked:
    """An accepted execution."""

    execution_id: str
    state: State
    """PENDING, or SCHEDULED until it is due."""
    position: int
    """How many wait before it in its lane; -1 while scheduled, and for what is no event: no `send` tells it."""


def read_grants(raw: list[Any]) -> list[Grant]:
    """Grants as the scripts write them: id, attempt, nonce, lane, lease, event or empty, message or empty, in turn."""
    fields = iter(raw)
    return [
        Grant(execution_id.decode(), attempt, nonce.decode(), lane.decode(), lease_ms, event or None, message or None)
        for execution_id, attempt, nonce, lane, lease_ms, event, message in zip(*[fields] * GRANT_FIELDS, strict=True)
    ]


def pod_holder(pod_uid: str) -> str:
    """How whoever speaks for a pod names itself where a thread gives its grant's nonce."""
    return f"pod:{pod_uid}"


def read_state(raw: bytes) -> State | None:
    """A state, or None for none."""
    return State(raw.decode()) if raw else None


def read_exchange(raw: list[Any]) -> Exchange:
    """The answer of exchange."""
    more, wait_ms, untold, outcomes, grants, *failed = raw
    wait = None if wait_ms < 0 else wait_ms
    admission = Admission(read_grants(grants), more=more == 1, wait_ms=wait, untold=untold == 1)
    failures = {name.decode(): error.decode() for name, error in _pairs(failed[0] if failed else [])}
    return Exchange([_read_outcome(code, detail) for code, detail in _pairs(outcomes)], failures, admission)


def _pairs(flat: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    fields = iter(flat)
    return zip(fields, fields, strict=True)


def _read_outcome(code: bytes, detail: bytes) -> Outcome:
    if code == b"ERROR":
        return Outcome(Code.ERROR, None, detail.decode())
    return Outcome(Code(code.decode()), read_state(detail))


def read_settled(raw: list[Any]) -> Settled:
    """The answer of exchange to a single settlement.

    Raises:
        QueueUnavailable: If it failed on damaged data.
    """
    exchange = read_exchange(raw)
    (outcome,) = exchange.outcomes
    if outcome.code is Code.ERROR:
        raise QueueUnavailable(f"what the server has of the execution is damaged: {outcome.error}")
    return Settled(outcome.code, outcome.state, exchange.admission.grants)
