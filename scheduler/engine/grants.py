"""The answers of the transitions, as frozen values: grants, admissions, settlements, acceptances."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..model.errors import QueueUnavailable
from ..model.states import State

GRANT_FIELDS: Final = 7
"""The number of fields of each grant in an answer."""


class Code(StrEnum):
    """The result of a call on an execution; the words are those of the scripts' headers."""

    OK = "OK"
    """The call was carried out."""
    STALE = "STALE"
    """The grant is not the current one: a later attempt has begun. Nothing was changed."""
    UNKNOWN = "UNKNOWN"
    """There is no such execution. Nothing was changed."""
    ENDED = "ENDED"
    """The execution is in a terminal state, which never changes."""
    NOT_HELD = "NOT_HELD"
    """The execution holds no slot, or is in a state that the call does not act on. Nothing was changed."""
    NOT_WAITING = "NOT_WAITING"
    """The execution does not wait any more. Nothing was changed."""
    ERROR = "ERROR"
    """The execution's data in Redis is damaged: the transition failed, perhaps half-way."""


class Renewal(StrEnum):
    """The result of renewing one lease."""

    RENEWED = "RENEWED"
    CANCEL = "CANCEL"
    """Renewed, but the execution was asked to end."""
    STALE = "STALE"
    """The grant was lost."""
    ERROR = "ERROR"
    """The execution's data in Redis is damaged: not renewed."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to a slot. Its attempt and nonce are the fencing token of every call made under it."""

    execution_id: str
    attempt: int
    nonce: str
    """Made for the admission: a server that restarted with older data may give the same attempt number twice."""
    lane: str
    lease_ms: int
    event: bytes | None
    """ExecutionRequestedEvent JSON, if it was enqueued as an event."""
    message: bytes | None
    """The Dramatiq message, if it was sent to an actor."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The answer to one call that admits."""

    grants: list[Grant]
    more: bool
    """Whether to call again: a bound of the call was reached; or an execution of another lane goes before the next one;
    or no grant was asked for, and an execution may be eligible."""
    wait_ms: int | None
    """Milliseconds until the next due time or lease end, if there is one."""
    untold: bool
    """Whether an outbox of these lanes may hold ends to collect; always False unless a consumer asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one settlement."""

    code: Code
    state: State | None
    """The state the execution is in now; None if it is unknown."""
    error: str = ""
    """The error's text, with code ERROR."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answer to one exchange: the results of its settlements, and the admission."""

    outcomes: list[Outcome]
    """One for each settlement, in order."""
    failures: dict[str, str]
    """The error of each lane, and of each execution to be promoted, reaped or swept, that was left out since its data
    in Redis is damaged.
    """
    admission: Admission


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of one settlement, and the grants of the same call."""

    code: Code
    state: State | None
    """The state the execution is in now; None if it is unknown."""
    grants: list[Grant]


@dataclass(frozen=True, slots=True)
class HandOver:
    """The result of a hand-over to a pod."""

    code: Code
    state: State | None
    is_wanted: bool
    """Whether the pod, no matter who created it, belongs to the current attempt and shall run; else delete it."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The result of a cancellation, with the execution's state and pod."""

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
    """How many wait before it in its lane; -1 while it is scheduled, and always for a message of an actor."""


def read_grants(raw: list[Any]) -> list[Grant]:
    """Read a script's grants, each as id, attempt, nonce, lane, lease, event or empty, message or empty."""
    fields = iter(raw)
    return [
        Grant(execution_id.decode(), attempt, nonce.decode(), lane.decode(), lease_ms, event or None, message or None)
        for execution_id, attempt, nonce, lane, lease_ms, event, message in zip(*[fields] * GRANT_FIELDS, strict=True)
    ]


def pod_holder(pod_uid: str) -> str:
    """Return the holder to give in calls about a pod, where a worker's thread gives its grant's nonce."""
    return f"pod:{pod_uid}"


def read_state(raw: bytes) -> State | None:
    """Read a state from an answer; None if it is empty."""
    return State(raw.decode()) if raw else None


def read_exchange(raw: list[Any]) -> Exchange:
    """Read the answer of the script exchange."""
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
    """Read the answer of the script exchange to a single settlement.

    Raises:
        QueueUnavailable: If the settlement failed on damaged data.
    """
    exchange = read_exchange(raw)
    (outcome,) = exchange.outcomes
    if outcome.code is Code.ERROR:
        raise QueueUnavailable(f"what the server has of the execution is damaged: {outcome.error}")
    return Settled(outcome.code, outcome.state, exchange.admission.grants)
