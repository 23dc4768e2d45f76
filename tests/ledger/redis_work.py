"""What Redis has of a queue's work, for tests that rebuild it: sent, read as a whole, compared, checked."""

from typing import Any

import redis
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

CHANGES_WITH_TIME = {
    "band_since",
    "behind",
    "cancel_reason",
    "crashes",
    "granted_at",
    "handed_over_at",
    "nonce",
    "waiting_since",
}
"""Fields of a record that are as new, or are not known to the ledger."""


def send(queue: ExecutionQueueService, name: str, **fields: object) -> None:
    queue.enqueue(ExecutionRequestedEvent.from_any({"execution_id": name, "command": ["true"]} | fields))


def metas_of(queue: ExecutionQueueService) -> dict[str, dict[str, str]]:
    """What Redis knows of every execution."""
    keys = queue.scripts.client.scan_iter("exec_queue:meta:*")
    ids = [key.decode().removeprefix("exec_queue:meta:") for key in keys]
    return dict(zip(ids, queue.views.metas(ids), strict=True))


def comparable(meta: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in meta.items() if value and name not in CHANGES_WITH_TIME}


def is_sound(queue: ExecutionQueueService) -> None:
    Invariants().check(read_dump(queue.scripts.client, queue.scripts.keys), one_step=False)


Snapshot = dict[bytes, tuple[bytes, int]]
"""By key, its contents, and the milliseconds that it has left, 0 for ever: as a server keeps them on its disk."""


def snapshot(client: redis.Redis) -> Snapshot:
    """All that Redis has of a queue."""
    keys: Any = client.keys("exec_queue:*")
    found: dict[bytes, Any] = {key: (client.dump(key), client.pttl(key)) for key in keys}
    return {key: (value, max(0, left_ms)) for key, (value, left_ms) in found.items() if value is not None}


def restore_snapshot(client: redis.Redis, kept: Snapshot) -> None:
    """Bring the server back to a snapshot."""
    client.flushdb()
    for key, (value, left_ms) in kept.items():
        client.restore(key, left_ms, value)
