"""Makes Prometheus's families of metrics out of queues of items and triggers: names and units are in docs/metrics.md.

In the flow: each scrape of `collecting.py` reads the tables anew, so processes that restart or take over serve the same
figures. Nothing here writes. Of a queue, what lives is counted along an index, and of what has ended only the last
hour, whatever is kept; so there are no counters, which retention would make fall.
"""

from collections.abc import Iterator
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from sqlalchemy import Connection, Row, func, select

from ..database import now_ms
from ..schema.tables import firings, item_queues, queue_items, triggers

LIVING: Final = ("NEW", "POSTPONED", "IN_PROGRESS")
HOUR_MS: Final = 3_600_000


def of_items(connection: Connection, queues: int) -> Iterator[Metric]:
    """The gauges of queues and triggers.

    Args:
        connection: To the ledger's database.
        queues: How many queues have series: those with the most that is new, then those of the lowest number.
    """
    at_ms = connection.execute(select(now_ms())).scalar_one()
    rows = _queues(connection, queues)
    names = {row.queue_id: row.name for row in rows}
    yield _family(
        "items",
        ("queue", "status"),
        "Items that live",
        {(row.name, status): row[number] for row in rows for number, status in enumerate(LIVING)},
    )
    yield _family(
        "items_oldest_seconds",
        ("queue",),
        "For how long the item that waits longest has been there; 0: none waits",
        {(row.name,): 0.0 if row.oldest_ms is None else max(0, at_ms - row.oldest_ms) / 1000 for row in rows},
    )
    yield _family(
        "items_ended_last_hour",
        ("queue", "status"),
        "Items that ended in the last hour",
        _ended(connection, names, at_ms),
    )
    failing = select(func.count()).where(triggers.c.enabled, triggers.c.failures > 0)
    unsent = select(func.count()).where(firings.c.sent_ms.is_(None), firings.c.ended_ms.is_(None))
    for name, text, counted in (
        ("triggers_failing", "Triggers whose last firing could not be sent", failing),
        ("firings_unsent", "Firings that Redis has not accepted yet", unsent),
    ):
        yield GaugeMetricFamily(f"bandmaster_{name}", text, connection.execute(counted).scalar_one())


def _queues(connection: Connection, most: int) -> list[Row[Any]]:
    of = queue_items.c
    here = of.queue_id == item_queues.c.queue_id
    counted = [
        select(func.count()).where(here, of.status == status).scalar_subquery().label(status) for status in LIVING
    ]
    oldest = select(func.min(of.created_ms)).where(here, of.status == "NEW").scalar_subquery().label("oldest_ms")
    wanted = select(*counted, oldest, item_queues.c.queue_id, item_queues.c.name)
    return list(connection.execute(wanted.order_by(counted[0].desc(), item_queues.c.queue_id).limit(most)).all())


def _ended(connection: Connection, names: dict[int, str], at_ms: int) -> dict[tuple[str, ...], float]:
    of = queue_items.c
    wanted = select(of.queue_id, of.status, func.count()).where(of.ended_ms > at_ms - HOUR_MS)
    found = {
        (names.get(queue), status): count
        for queue, status, count in connection.execute(wanted.group_by(of.queue_id, of.status))
    }
    return {(name, status): count for (name, status), count in found.items() if name is not None}


def _family(name: str, labels: tuple[str, ...], text: str, values: dict[tuple[str, ...], float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"bandmaster_{name}", text, labels=labels)
    for of, value in values.items():
        family.add_metric(of, value)
    return family
