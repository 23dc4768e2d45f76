"""How many executions of an action were granted a slot lately.

In the flow: the API estimates from it when one that waits may begin. Those that never ran do not count: others that
wait do not come nearer by them as they do by grants.
"""

from typing import Final

from sqlalchemy import Connection, select

from ..schema.tables import holds

_LATEST: Final = 200
"""More are not counted: a rate from so many is exact enough, and the index is read no further."""


def grants_per_second(connection: Connection, action: str, *, now_ms: int, window_ms: int) -> float | None:
    """Return how many executions of an action were granted a second, by the latest of them; None: none was.

    Args:
        connection: Of the ledger.
        action: The action.
        now_ms: The time of the Redis server's clock, by which grants are stamped.
        window_ms: How far back they count.

    Raises:
        LedgerError: As `Asking.reading` says.
    """
    of_gate = select(holds.c.since_ms).where(holds.c.gate == f"action:{action}", holds.c.since_ms >= now_ms - window_ms)
    since_ms = connection.execute(of_gate.order_by(holds.c.since_ms.desc()).limit(_LATEST)).scalars().all()
    if not since_ms:
        return None
    span_ms = window_ms if len(since_ms) < _LATEST else max(1, now_ms - since_ms[-1])
    return len(since_ms) * 1000 / span_ms
