"""How many executions of an action were granted a slot lately.

In the flow: the API estimates from it when one that waits may begin. Those that never ran do not count: others that
wait do not come nearer by them as they do by grants.
"""

from typing import Final

from sqlalchemy import Connection, select

from ..schema.tables import holds

_FEWEST: Final = 2
_LATEST: Final = 200
"""More are not counted: a rate from so many is exact enough, and the index is read no further."""


def grants_per_second(connection: Connection, action: str, *, now_ms: int, window_ms: int) -> float | None:
    """Return how many executions of an action were granted a second, by the latest of them.

    Counted are the grants after the first of them, over the time since: what came before a burst does not slow it.

    Args:
        connection: Of the ledger.
        action: The action.
        now_ms: The time of the Redis server's clock, by which grants are stamped.
        window_ms: How far back they count.

    Returns:
        The rate; None: fewer than two were granted, which make none.

    Raises:
        LedgerError: As `Asking.reading` says.
    """
    of_gate = select(holds.c.since_ms).where(holds.c.gate == f"action:{action}", holds.c.since_ms >= now_ms - window_ms)
    since_ms = connection.execute(of_gate.order_by(holds.c.since_ms.desc()).limit(_LATEST)).scalars().all()
    if len(since_ms) < _FEWEST:
        return None
    return (len(since_ms) - 1) * 1000 / max(1, now_ms - since_ms[-1])
