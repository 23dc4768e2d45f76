"""Calls about executions: submitting, reading, and what is done to them. In the flow: see the package."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack
from urllib.parse import quote

from ....scheduler.model.identifiers import check_execution_id
from ...answers.document import Nothing
from ...answers.executions import (
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
from ...answers.waits import Waits
from ...api.idempotency import check_key
from ..call import V1, Call, between, given
from ..strict_json import json_of


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


def upload(script: bytes, submission: Mapping[str, Any], key: str, file_name: str = "script") -> Call[Accepted]:
    """Send a script as a file, with the other fields of a submission; `key`, under which it is carried out once.

    Raises:
        InvalidRequest: If it cannot be a key.
    """
    fields = {"submission": json_of(submission)}
    return Call(
        "POST",
        f"{V1}/executions/upload",
        Accepted,
        body=fields,
        files={"script": (file_name, script)},
        headers={"Idempotency-Key": check_key(key)},
    )


class Filters(TypedDict, total=False):
    """What every list of executions is filtered by."""

    status: Sequence[str]
    priority: Sequence[str]
    user: str | None
    action: str | None
    lane: str | None


def executions(
    *,
    accepted_from: datetime | None = None,
    accepted_to: datetime | None = None,
    text: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
    total: bool | None = None,
    **filters: Unpack[Filters],
) -> Call[ExecutionPage]:
    """A page of executions."""
    query = given(**filters, text=text, cursor=cursor, limit=limit, total=total)
    return Call("GET", f"{V1}/executions/", ExecutionPage, query=query | between(accepted_from, accepted_to))


def living(
    group: str, *, gate: str | None = None, limit: int | None = None, **filters: Unpack[Filters]
) -> Call[LivingExecutions]:
    """What is `running`, `waiting` (in the order of its turn) or `scheduled`; needs no ledger."""
    query = given(**filters, group=group, gate=gate, limit=limit)
    return Call("GET", f"{V1}/executions/living", LivingExecutions, query=query)


def show(execution_id: str) -> Call[OneExecution]:
    """One execution."""
    return Call("GET", _of(execution_id), OneExecution)


def timeline(execution_id: str) -> Call[Timeline]:
    """What happened to it."""
    return Call("GET", _of(execution_id, "/timeline"), Timeline)


def waits(execution_id: str) -> Call[Waits]:
    """What it waited for."""
    return Call("GET", _of(execution_id, "/waits"), Waits)


def payload(execution_id: str) -> Call[PayloadAnswer]:
    """What it runs."""
    return Call("GET", _of(execution_id, "/payload"), PayloadAnswer)


def logs(execution_id: str, tail_bytes: int | None = None) -> Call[LogAnswer]:
    """What it printed."""
    return Call("GET", _of(execution_id, "/logs"), LogAnswer, query=given(tail_bytes=tail_bytes))


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


def dead(limit: int | None = None, *, gate: str | None = None, **filters: Unpack[Filters]) -> Call[DeadLetters]:
    """Dead letters."""
    return Call("GET", f"{V1}/executions/dead", DeadLetters, query=given(**filters, gate=gate, limit=limit))


def queue(lane: str | None = None) -> Call[QueueAnswer]:
    """The queue's status."""
    return Call("GET", f"{V1}/executions/queue", QueueAnswer, query=given(lane=lane))


def plan_bulk(wish: Mapping[str, Any]) -> Call[BulkPlan]:
    """Count what a change of many would change."""
    return Call("POST", f"{V1}/executions/bulk/plan", BulkPlan, body=wish)


def change_bulk(ticket: str) -> Call[BulkDone]:
    """Change those that were counted."""
    return Call("POST", f"{V1}/executions/bulk", BulkDone, body={"ticket": ticket})
