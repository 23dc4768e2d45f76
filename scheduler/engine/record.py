"""Typed forms of the record and the result that Redis keeps of an execution.

In the flow: the command line reads these, and so may any other caller; nothing is changed. Both are read tolerantly,
since it is better to show a part of an older version's record than nothing.
"""

from dataclasses import asdict, dataclass
from typing import Self

from pydantic import BaseModel, ValidationError

from ..model.priority import Priority
from ..model.states import TERMINAL, State
from ..model.times import iso_of
from ..views import Views


@dataclass(frozen=True, slots=True)
class Record:
    """The record of an execution. Times are Unix milliseconds of the server's clock."""

    execution_id: str
    state: State
    position: int | None
    priority: str
    lane: str
    action: str
    user_id: str | None
    gates: tuple[str, ...]
    attempt: int
    reason: str | None
    pod: str | None
    accepted_ms: int | None
    due_ms: int | None
    granted_ms: int | None
    ended_ms: int | None
    cancel_requested: bool

    @classmethod
    def from_meta(cls, execution_id: str, meta: dict[str, str], position: int | None = None) -> Self:
        """Make a record from a meta hash or from a journal entry's fields; missing fields stay empty."""
        return cls(
            execution_id=execution_id,
            state=State(meta["state"]),
            position=position,
            priority=Priority(int(meta["band"])).name if meta.get("band") else "",
            lane=meta.get("lane", ""),
            action=meta.get("action", ""),
            user_id=meta.get("user") or None,
            gates=tuple(meta.get("gates", "").splitlines()),
            attempt=int(meta.get("attempt", 0)),
            reason=meta.get("reason") or None,
            pod=meta.get("pod"),
            accepted_ms=_whole(meta, "accepted_at"),
            due_ms=_whole(meta, "due"),
            granted_ms=_whole(meta, "granted_at"),
            ended_ms=_whole(meta, "ended_at"),
            cancel_requested="cancel" in meta,
        )

    @property
    def ended(self) -> bool:
        """Whether the execution is in a terminal state."""
        return self.state in TERMINAL

    def as_json(self) -> dict[str, object]:
        """The record for JSON, with times as ISO 8601 in UTC."""
        document: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name.endswith("_ms"):
                document[f"{name.removesuffix('_ms')}_at"] = iso_of(value)
            else:
                document[name] = value
        return document


class Result(BaseModel, frozen=True):
    """The stored result of an execution."""

    exit_code: int | None = None
    reason: str | None = None
    duration_seconds: float | None = None
    output_tail: str = ""
    output_truncated: bool = False


class Raised(BaseModel, frozen=True):
    """The exception that made an execution a dead letter, as the dead letter keeps it."""

    exception: str
    traceback: str


def read_result(views: Views, execution_id: str) -> Result | None:
    """Return the stored result; None if there is none (any more), or this version cannot read it."""
    raw = views.result(execution_id)
    return None if raw is None else parse_result(raw)


def parse_result(raw: bytes) -> Result | None:
    """Read a stored result; None if it is an exception, or this version cannot read it."""
    if _raised(raw) is not None:
        return None
    try:
        return Result.model_validate_json(raw)
    except ValidationError:
        return None


def read_raised(views: Views, execution_id: str) -> Raised | None:
    """Return the exception that is stored in place of a result if the body raised; None if there is none."""
    raw = views.result(execution_id)
    return None if raw is None else _raised(raw)


def _raised(raw: bytes) -> Raised | None:
    try:
        return Raised.model_validate_json(raw)
    except ValidationError:
        return None


def read_records(views: Views, execution_ids: list[str]) -> dict[str, Record]:
    """Return the records of the executions that are known, in the given order."""
    metas = zip(execution_ids, views.metas(execution_ids), strict=True)
    return {one: Record.from_meta(one, meta) for one, meta in metas if "state" in meta}


def _whole(meta: dict[str, str], name: str) -> int | None:
    text = meta.get(name, "")
    return int(float(text)) if text else None
