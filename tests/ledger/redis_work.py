"""What Redis has of a queue's work, for tests that rebuild it: sent, read as a whole, compared, checked."""

from typing import Any

import redis
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

CHANGES_WITH_TIME = {"granted_at", "waiting_since", "nonce", "handed_over_at", "behind", "crashes", "cancel_reason"}
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


def dump(client: redis.Redis) -> dict[bytes, bytes]:
    """All that Redis has of a queue, as a snapshot keeps it."""
    keys: Any = client.keys("exec_queue:*")
    found: dict[bytes, Any] = {key: client.dump(key) for key in keys}
    return {key: value for key, value in found.items() if value is not None}


def restore_dump(client: redis.Redis, kept: dict[bytes, bytes]) -> None:
    """Bring the server back to a snapshot."""
    client.flushdb()
    for key, value in kept.items():
        client.restore(key, 0, value)
