"""Whatever happens in a queue, the ledger tells the same: states, figures, holds, and each entry once."""

import random
from collections import Counter

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.consumer import Consumer
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService

ACTIONS = ("resize", "mail", "report")
USERS = (None, "ada", "ben")
GATES: tuple[list[str], ...] = ([], ["tenant:acme"], ["tenant:acme", "region:north"])
STEPS = 300


class Operators:
    """Whoever sends, works and steers, with the chances of one seed."""

    def __init__(self, queue: ExecutionQueueService, seed: int) -> None:
        self._queue = queue
        self._chances = random.Random(seed)
        self._sent: list[str] = []
        self._held: dict[str, int] = {}

    def act(self) -> None:
        """Do any one thing."""
        deeds = {
            self._send: 30,
            self._admit: 25,
            self._end: 15,
            self._retry: 5,
            self._cancel: 5,
            self._reprioritise: 4,
            self._steer: 4,
            self._hand_over: 4,
            self._bury: 2,
            self._drop: 2,
        }
        self._chances.choices(list(deeds), list(deeds.values()))[0]()

    def _send(self) -> None:
        choose = self._chances.choice
        again = self._sent and self._chances.random() < 0.05
        event = ExecutionRequestedEvent.from_any(
            {
                "execution_id": choose(self._sent) if again else f"exec-{len(self._sent)}",
                "action": choose(ACTIONS),
                "metadata": {"user_id": choose(USERS)},
                "priority": choose(("CRITICAL", "NORMAL", "LOW")),
                "gates": choose(GATES),
                "command": ["true"],
            }
        )
        try:
            self._queue.enqueue(event)
        except QueueRejected:
            return
        self._sent.append(event.execution_id)

    def _admit(self) -> None:
        granted = self._queue.transitions.admit(("executions",), 1)
        for grant in granted.grants:
            self._held[grant.execution_id] = grant.attempt

    def _any_held(self) -> tuple[str, int] | None:
        if not self._held:
            return None
        one = self._chances.choice(sorted(self._held))
        return one, self._held[one]

    def _end(self) -> None:
        if held := self._any_held():
            state = self._chances.choice((State.COMPLETED, State.FAILED, State.TIMEOUT))
            self._queue.release(held[0], attempt=held[1], state=state)
            del self._held[held[0]]

    def _retry(self) -> None:
        if held := self._any_held():
            self._queue.retry(held[0], held[1], delay_ms=self._chances.choice((0, 0, 60_000)))
            del self._held[held[0]]

    def _hand_over(self) -> None:
        if held := self._any_held():
            self._queue.transitions.hand_over(held[0], held[1], f"pod-of-{held[0]}", "uid")

    def _bury(self) -> None:
        name = f"refused-{self._chances.random()}"
        candidate = Candidate(execution_id=name, lane="executions", band=2, action="mail", message=b"refused")
        self._queue.transitions.bury(candidate, "queue_full")

    def _drop(self) -> None:
        if letters := self._queue.views.dead():
            self._queue.drop(self._chances.choice(letters), by="ben")

    def _cancel(self) -> None:
        if self._sent:
            self._queue.cancel(self._chances.choice(self._sent), by="ada")

    def _reprioritise(self) -> None:
        if self._sent:
            self._queue.update_priority(self._chances.choice(self._sent), "HIGH", by="ben")

    def _steer(self) -> None:
        action = f"action:{self._chances.choice(ACTIONS)}"
        self._queue.controls.set_limit(action, self._chances.choice((None, 1, 2, 5)), by="ada")


@pytest.mark.parametrize("seed", range(8))
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
