"""Whatever happens in a queue, the ledger tells the same: states, figures, holds, and each entry once."""

from collections import Counter

import pytest
import redis
from ledger_reading import Reading, catch_up
from random_operators import Operators, seeds

from bandmaster.ledger.consumer import Consumer
from bandmaster.scheduler.model.states import HOLDING, TERMINAL
from bandmaster.scheduler.queue import ExecutionQueueService

STEPS = 300


@pytest.mark.parametrize("seed", seeds(8))
def test_the_ledger_tells_what_redis_knows(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    operators = Operators(queue, seed)
    for step in range(STEPS):
        operators.act()
        if step % 97 == 0:
            catch_up(consumer)
    catch_up(consumer)

    rows = {row["execution_id"]: row for row in reading.rows("SELECT * FROM executions")}
    metas = dict(zip(rows, queue.views.metas(list(rows)), strict=True))
    assert {one: row["state"] for one, row in rows.items()} == {one: meta["state"] for one, meta in metas.items()}
    assert {one: row["attempt"] for one, row in rows.items()} == {
        one: int(meta.get("attempt", 0)) for one, meta in metas.items()
    }
    assert {one: str(row["band"]) for one, row in rows.items()} == {one: meta["band"] for one, meta in metas.items()}
    for one, row in rows.items():
        assert str(row["accepted_ms"]) == metas[one]["accepted_at"]
        assert row["granted_ms"] is None or str(row["granted_ms"]) == metas[one]["granted_at"]
        assert row["ended_ms"] is None or str(row["ended_ms"]) == metas[one].get("ended_at", str(row["ended_ms"]))
        assert (row["ended_ms"] is not None) == (row["state"] in TERMINAL)

    assert {one for one, row in rows.items() if row["dead"]} == set(queue.views.dead())

    entries = list(queue.journal.entries())
    told = reading.rows(
        "SELECT entry_ms, entry_number, verb, execution_id FROM transitions UNION ALL "
        "SELECT entry_ms, entry_number, verb, '' FROM changes ORDER BY 1, 2"
    )
    assert [(f"{row['entry_ms']}-{row['entry_number']}", row["verb"], row["execution_id"]) for row in told] == [
        (entry.entry_id, entry.verb, entry.execution_id) for entry in entries
    ]

    for row in reading.rows("SELECT ref, queue_stats.* FROM queue_stats JOIN action ON id = action_id"):
        known = queue.action_statistics(row["ref"])
        assert (row["queue_length"], row["active_count"]) == (known.queue_length, known.active_count), row
        assert (row["total_enqueued"], row["total_completed"]) == (known.total_enqueued, known.total_completed), row
        assert row["max_concurrent"] == known.max_concurrent
        assert (row["oldest_enqueued_at"] is None) == (known.oldest_enqueued_at is None)

    open_holds = Counter(row["gate"] for row in reading.rows("SELECT gate FROM holds WHERE until_ms IS NULL"))
    gates = sorted({row["gate"] for row in reading.rows("SELECT gate FROM holds")})
    assert [open_holds[gate] for gate in gates] == queue.views.held(gates)
    assert reading.one("SELECT count(*) FROM gaps") == 0
    assert any(row["state"] in HOLDING for row in rows.values()) or open_holds.total() == 0


def test_nothing_is_written_twice_when_another_consumer_goes_on(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    operators = Operators(queue, 99)
    for _ in range(50):
        operators.act()
    catch_up(consumer)
    before = reading.rows("SELECT * FROM queue_stats")
    assert catch_up(consumer) == 0
    assert reading.rows("SELECT * FROM queue_stats") == before
    assert reading.one("SELECT entry_count FROM consumer") == redis_client.xlen("exec_queue:journal")
