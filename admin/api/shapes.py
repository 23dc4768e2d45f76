"""Makes answers of what the queue and the ledger give."""

from collections.abc import Sequence

from ...ledger.executions import Execution
from ...scheduler.engine.record import Record
from ...scheduler.model.times import iso_of
from ..answers.access import TokenAnswer, Whoami
from ..answers.executions import ExecutionAnswer
from ..auth.tokens import Token
from .finding import record_of
from .moments import shown_at


def execution_answer(
    record: Record,
    *,
    row: Execution | None = None,
    position: int | None = None,
    waits_for: Sequence[str] = (),
    dead: bool = False,
) -> ExecutionAnswer:
    """Return an execution's answer.

    Args:
        record: What Redis keeps of it, or a row in that form.
        row: What the ledger keeps of it, if it was asked.
        position: How many wait before it.
        waits_for: Why it waits.
        dead: Whether it is a dead letter; a row says it by itself.
    """
    return ExecutionAnswer(
        execution_id=record.execution_id,
        state=record.state,
        position=position,
        priority=record.priority or None,
        lane=record.lane or None,
        action=record.action or None,
        user_id=record.user_id,
        gates=list(record.gates),
        attempt=record.attempt,
        reason=record.reason,
        exit_code=None if row is None else row.exit_code,
        pod=record.pod,
        dead=dead or (row is not None and row.dead),
        lost=row is not None and row.lost_ms is not None,
        cancel_requested=record.cancel_requested,
        waits_for=list(waits_for),
        accepted_at=iso_of(record.accepted_ms),
        due_at=iso_of(record.due_ms),
        granted_at=iso_of(record.granted_ms),
        started_at=None if row is None else iso_of(row.started_ms),
        ended_at=iso_of(record.ended_ms),
    )


def row_answer(row: Execution) -> ExecutionAnswer:
    """Return the answer of an execution that the ledger lists."""
    return execution_answer(record_of(row), row=row)


def whoami_answer(token: Token) -> Whoami:
    """Return who the owner of a token is, and what it allows."""
    return Whoami(
        owner=token.owner,
        token_id=token.token_id,
        scopes=sorted(token.scopes),
        max_band=token.max_band.name,
        gates=None if token.gates is None else list(token.gates),
        robot_id=token.robot_id,
        queues=None if token.queues is None else list(token.queues),
        expires_at=iso_of(token.expires_ms),
    )


def token_answer(token: Token) -> TokenAnswer:
    """Return a token's answer."""
    return TokenAnswer(
        token_id=token.token_id,
        owner=token.owner,
        scopes=sorted(token.scopes),
        max_band=token.max_band.name,
        gates=None if token.gates is None else list(token.gates),
        robot_id=token.robot_id,
        queues=None if token.queues is None else list(token.queues),
        created_at=shown_at(token.created_ms),
        created_by=token.created_by,
        expires_at=None if token.expires_ms is None else shown_at(token.expires_ms),
        revoked_at=iso_of(token.revoked_ms),
        last_used_at=iso_of(token.used_ms),
    )
