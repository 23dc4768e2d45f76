"""The record and the result of an execution, typed, as Redis keeps them.

In the flow: the command line reads these, and so may any other caller; nothing is changed. Both are read tolerantly,
since a record of an older version is better shown in part than not at all.
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
    """What is known of an execution. Times are Unix milliseconds of the server's clock."""

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
        """The record that a meta hash, or a journal entry's fields, hold; of little, much is empty."""
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
        """Whether it is in a terminal state."""
        return self.state in TERMINAL

    def as_json(self) -> dict[str, object]:
        """The record as JSON has it: times as ISO 8601 in UTC."""
        document: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name.endswith("_ms"):
                document[f"{name.removesuffix('_ms')}_at"] = iso_of(value)
            else:
                document[name] = value
        return document


class Result(BaseModel, frozen=True):
    """How an execution ended, as far as it is kept."""

    exit_code: int | None = None
    reason: str | None = None
    duration_seconds: float | None = None
    output_tail: str = ""
    output_truncated: bool = False


class Raised(BaseModel, frozen=True):
    """What a dead letter keeps of the exception that made it one."""

    exception: str
    traceback: str


def read_result(views: Views, execution_id: str) -> Result | None:
    """The stored result; None if there is none (any more), or none that this version can read."""
    raw = views.result(execution_id)
    if raw is None or _raised(raw) is not None:
        return None
    try:
        return Result.model_validate_json(raw)
    except ValidationError:
        return None


def read_raised(views: Views, execution_id: str) -> Raised | None:
    """What is stored in a result's place of a body that raised; None if there is none."""
    raw = views.result(execution_id)
    return None if raw is None else _raised(raw)


def _raised(raw: bytes) -> Raised | None:
    try:
        return Raised.model_validate_json(raw)
    except ValidationError:
        return None


def read_records(views: Views, execution_ids: list[str]) -> dict[str, Record]:
    """The records of those that are known, in the given order."""
    metas = zip(execution_ids, views.metas(execution_ids), strict=True)
    return {one: Record.from_meta(one, meta) for one, meta in metas if "state" in meta}


def _whole(meta: dict[str, str], name: str) -> int | None:
    text = meta.get(name, "")
    return int(float(text)) if text else None
