"""How many executions of each action ended lately.

In the flow: the API estimates from it when one that waits may begin.
"""

from sqlalchemy import Connection, func, select

from ..schema.tables import executions


def ended_since(connection: Connection, since_ms: int) -> dict[str, int]:
    """Return how many executions of each action have ended since then; those of which none has are left out.

    Raises:
        LedgerError: As `Asking.reading` says.
    """
    query = select(executions.c.action, func.count().label("ended")).where(executions.c.ended_ms >= since_ms)
    return {row.action: row.ended for row in connection.execute(query.group_by(executions.c.action))}
