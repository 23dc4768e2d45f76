"""Limits that adjust themselves in the history: the number in force; and after a loss again, with that one."""

from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.history import LastChange
from bandmaster.ledger.rebuild.operators import set_again
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.limits import Holding
from bandmaster.scheduler.queue import ExecutionQueueService

GATE = "action:mail"


def test_it_goes_on_with_its_last_number_after_a_loss(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit(GATE, Auto(2, 50, start=12), by="ada")
    queue.enqueue({"execution_id": "one", "command": ["true"], "action": "mail"})
    catch_up(consumer)
    assert reading.one("SELECT max_concurrent FROM queue_stats") == 12
    assert reading.rows("SELECT value_before, value_after, changed_by FROM changes") == [
        {"value_before": None, "value_after": "auto(2,50), now 12", "changed_by": "ada"}
    ]
    redis_client.flushdb()
    assert rebuild(queue, database).not_restored == {}
    expected = Holding(GATE, 12, is_declared=False, auto=Auto(2, 50))
    assert queue.controls.all_limits().named(GATE) == expected
    rebuild(queue, database, merge=True)
    assert queue.controls.all_limits().named(GATE) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("auto(2,50), now 12: 3 of 20 failed", Holding(GATE, 12, is_declared=False, auto=Auto(2, 50))),
        ("auto(2,50), now 12, declared: full", None),
        ("7", Holding(GATE, 7, is_declared=False)),
    ],
)
def test_what_was_declared_is_left_to_who_declares_it(
    value: str, expected: Holding | None, queue: ExecutionQueueService
) -> None:
    change: Any = LastChange("limit", GATE, value, queue.views.server_time_ms(), "auto")
    assert set_again([change], queue) == (1, {})
    assert queue.controls.all_limits().named(GATE) == expected
