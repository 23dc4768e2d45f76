"""``Call``: one request, and the document that answers it. Both clients send the same calls.

In the flow: a function for each thing that can be asked; nothing here sends anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from ...scheduler.model.identifiers import check_execution_id
from ..answers.access import Whoami
from ..answers.controls import Audit, Changed, LimitAnswer, Limits, Pauses, SettingAnswer, Settings
from ..answers.document import Nothing
from ..answers.executions import (
    Accepted,
    BulkDone,
    BulkPlan,
    Cancelled,
    DeadLetters,
    ExecutionPage,
    LivingExecutions,
    LogAnswer,
    Moved,
    OneExecution,
    PayloadAnswer,
    QueueAnswer,
    ResultAnswer,
    Retried,
    Timeline,
)
from ..answers.figures import Actions, Gates, Lanes, QueueStats, Users
from ..answers.workers import WorkersAnswer
from ..api.idempotency import check_key

V1: Final = "/api/v1"
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request."""

    method: str
    path: str
    answer: type[T]
    """The document that comes back."""
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be sent again when no answer came: it changes nothing, or is carried out once."""
        return self.method in ("GET", "PUT", "DELETE") or "Idempotency-Key" in self.headers


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None and value != ()}


def _of(execution_id: str, what: str = "") -> str:
    check_execution_id(execution_id)
    return f"{V1}/executions/{quote(execution_id, safe='')}{what}"


def submit(submission: Mapping[str, Any], key: str) -> Call[Accepted]:
    """Send an execution; `key`, under which it is carried out once.

    Raises:
        InvalidRequest: If it cannot be a key.
    """
    headers = {"Idempotency-Key": check_key(key)}
    return Call("POST", f"{V1}/executions/", Accepted, body=submission, headers=headers)


def executions(
    *,
    status: Sequence[str] = (),
    priority: Sequence[str] = (),
    user: str | None = None,
    action: str | None = None,
    lane: str | None = None,
    accepted_from: datetime | None = None,
    accepted_to: datetime | None = None,
    text: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
    total: bool | None = None,
) -> Call[ExecutionPage]:
    """A page of executions."""
    query = _given(status=list(status) or None, priority=list(priority) or None, user=user, action=action, lane=lane)
    query |= _given(text=text, cursor=cursor, limit=limit, total=total)
    for name, moment in (("from", accepted_from), ("to", accepted_to)):
        query |= {} if moment is None else {name: moment.isoformat()}
    return Call("GET", f"{V1}/executions/", ExecutionPage, query=query)


def living(
    group: str, *, user: str | None = None, action: str | None = None, limit: int | None = None
) -> Call[LivingExecutions]:
    """What is `running`, `waiting` (in the order of its turn) or `scheduled`; needs no ledger."""
    query = _given(group=group, user=user, action=action, limit=limit)
    return Call("GET", f"{V1}/executions/living", LivingExecutions, query=query)


def show(execution_id: str) -> Call[OneExecution]:
    """One execution."""
    return Call("GET", _of(execution_id), OneExecution)


def timeline(execution_id: str) -> Call[Timeline]:
    """What happened to it."""
    return Call("GET", _of(execution_id, "/timeline"), Timeline)


def payload(execution_id: str) -> Call[PayloadAnswer]:
    """What it runs."""
    return Call("GET", _of(execution_id, "/payload"), PayloadAnswer)


def logs(execution_id: str, tail_bytes: int | None = None) -> Call[LogAnswer]:
    """What it printed."""
    return Call("GET", _of(execution_id, "/logs"), LogAnswer, query=_given(tail_bytes=tail_bytes))


def result(execution_id: str) -> Call[ResultAnswer]:
    """How it ended."""
    return Call("GET", _of(execution_id, "/result"), ResultAnswer)


def cancel(execution_id: str, reason: str) -> Call[Cancelled]:
    """End it."""
    return Call("POST", _of(execution_id, "/cancel"), Cancelled, body={"reason": reason})


def move(execution_id: str, priority: str) -> Call[Moved]:
    """Give it another priority."""
    return Call("PUT", _of(execution_id, "/priority"), Moved, body={"priority": priority})


def retry(execution_id: str) -> Call[Retried]:
    """Run a dead letter again."""
    return Call("POST", _of(execution_id, "/retry"), Retried)


def drop(execution_id: str) -> Call[Nothing]:
    """Forget a dead letter."""
    return Call("DELETE", _of(execution_id, "/dead"), Nothing)


def dead(limit: int | None = None) -> Call[DeadLetters]:
    """Dead letters."""
    return Call("GET", f"{V1}/executions/dead", DeadLetters, query=_given(limit=limit))


def queue(lane: str | None = None) -> Call[QueueAnswer]:
    """The queue's status."""
    return Call("GET", f"{V1}/executions/queue", QueueAnswer, query=_given(lane=lane))


def plan_bulk(wish: Mapping[str, Any]) -> Call[BulkPlan]:
    """Count what a change of many would change."""
    return Call("POST", f"{V1}/executions/bulk/plan", BulkPlan, body=wish)


def change_bulk(ticket: str) -> Call[BulkDone]:
    """Change those that were counted."""
    return Call("POST", f"{V1}/executions/bulk", BulkDone, body={"ticket": ticket})


def actions() -> Call[Actions]:
    """All actions."""
    return Call("GET", f"{V1}/actions", Actions)


def drop_action(action: str) -> Call[Nothing]:
    """Forget the figures of an unused action."""
    return Call("DELETE", f"{V1}/actions/{quote(action, safe='')}", Nothing)


def queue_stats(action: str) -> Call[QueueStats]:
    """The queue of an action."""
    return Call("GET", f"{V1}/actions/{quote(action, safe='')}/queue-stats", QueueStats)


def users() -> Call[Users]:
    """Users with executions that wait."""
    return Call("GET", f"{V1}/users", Users)


def gates() -> Call[Gates]:
    """Gates, the most blocked first."""
    return Call("GET", f"{V1}/gates", Gates)


def lanes() -> Call[Lanes]:
    """Lanes, and who works."""
    return Call("GET", f"{V1}/lanes", Lanes)


def workers() -> Call[WorkersAnswer]:
    """Worker processes, and what they do."""
    return Call("GET", f"{V1}/workers", WorkersAnswer)


def limits() -> Call[Limits]:
    """All limits."""
    return Call("GET", f"{V1}/limits", Limits)


def limit(gate: str) -> Call[LimitAnswer]:
    """The limit that holds for a gate."""
    return Call("GET", f"{V1}/limits/{quote(gate, safe='')}", LimitAnswer)


def set_limit(gate: str, limit: int | None) -> Call[LimitAnswer]:
    """Set or lift a limit."""
    path = f"{V1}/limits/{quote(gate, safe='')}"
    if limit is None:
        return Call("DELETE", path, LimitAnswer)
    return Call("PUT", path, LimitAnswer, body={"limit": limit})


def paused() -> Call[Pauses]:
    """What is paused."""
    return Call("GET", f"{V1}/pauses", Pauses)


def pause(name: str) -> Call[Changed]:
    """Begin a pause."""
    return Call("PUT", f"{V1}/pauses/{quote(name, safe='')}", Changed)


def resume(name: str) -> Call[Changed]:
    """End a pause."""
    return Call("DELETE", f"{V1}/pauses/{quote(name, safe='')}", Changed)


def settings(lane: str | None = None) -> Call[Settings]:
    """The runtime settings."""
    return Call("GET", f"{V1}/settings", Settings, query=_given(lane=lane))


def change_setting(name: str, value: int | None, lane: str | None, expected: float | str | None) -> Call[SettingAnswer]:
    """Change a runtime setting; `expected`, the value that was seen, ``*`` for any, None for no bound."""
    shown = "none" if expected is None else expected if isinstance(expected, str) else f"{expected:.15g}"
    match = {"If-Match": shown if shown == "*" else f'"{shown}"'}
    path, query = f"{V1}/settings/{quote(name, safe='')}", _given(lane=lane)
    return Call("PUT", path, SettingAnswer, query=query, body={"value": value}, headers=match)


def audit(
    subject: str | None = None, kind: str | None = None, cursor: str | None = None, limit: int | None = None
) -> Call[Audit]:
    """Who changed what."""
    return Call("GET", f"{V1}/audit", Audit, query=_given(subject=subject, kind=kind, cursor=cursor, limit=limit))


def whoami() -> Call[Whoami]:
    """Who the caller is."""
    return Call("GET", f"{V1}/whoami", Whoami)
