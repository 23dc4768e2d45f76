"""Which executions triggers have started lately, and what became of them: read for people.

In the flow: `triggers` asks with each trigger that it shows. A firing that is not ended has the state that the ledger
knows of its execution, which may be a moment old. Nothing here writes.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, case, select

from ..ledger.schema.tables import executions, firings, triggers


@dataclass(frozen=True, slots=True)
class Started:
    """One firing of a trigger, and the execution that it starts."""

    trigger_id: int
    execution_id: str
    fired_ms: int
    sent_ms: int | None
    """When Redis had accepted it; None: it has not."""
    ended_ms: int | None
    state: str | None
    """Of the execution; REFUSED: Redis can never accept it; LOST: nobody knows it any more; None: not known yet."""


def latest_started(connection: Connection, most: int, trigger_id: int | None = None) -> dict[int, list[Started]]:
    """Return the latest firings of triggers, the latest first, by the trigger's id.

    Args:
        connection: To the ledger's database.
        most: How many of each trigger.
        trigger_id: Of which trigger; None: of all.
    """
    of, first = firings.c, firings.alias()
    order = (first.c.created_ms.desc(), first.c.execution_id.desc())
    some = select(first.c.execution_id).where(first.c.trigger_id == triggers.c.trigger_id).order_by(*order).limit(most)
    state = case((of.ended_ms.is_not(None), of.state), else_=executions.c.state)
    found: Any = (
        select(of.trigger_id, of.execution_id, of.created_ms, of.sent_ms, of.ended_ms, state.label("state"))
        .select_from(triggers)
        .join(firings, of.execution_id.in_(some.correlate(triggers).scalar_subquery()))
        .outerjoin(executions, executions.c.execution_id == of.execution_id)
        .order_by(of.created_ms.desc(), of.execution_id.desc())
    )
    if trigger_id is not None:
        found = found.where(triggers.c.trigger_id == trigger_id)
    by_trigger: dict[int, list[Started]] = {}
    for row in connection.execute(found):
        by_trigger.setdefault(row.trigger_id, []).append(Started(*row))
    return by_trigger
