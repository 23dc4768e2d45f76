"""What the tests of damaged data do: a key is put aside and has another type meanwhile, and is put back."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import redis
from model.dump import read_dump
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.engine.parking import Candidate

LEASE_MS: Final = 30_000
WRONG_TYPE: Final = "wrong kind of value"


@contextmanager
def damaged(client: redis.Redis, key: str) -> Generator[None]:
    """`key`, without its prefix, is of another type than the engine's."""
    name, aside = f"exec_queue:{key}", f"put-aside:{key}"
    existed = client.exists(name)
    if existed:
        client.rename(name, aside)
    client.set(name, "not ours")
    yield
    client.delete(name)
    if existed:
        client.rename(aside, name)


def park(queue: TurnedQueue, lane: str, *names: str, band: int = 2, gates: tuple[str, ...] = ()) -> None:
    for name in names:
        queue.transitions.park(Candidate(name, lane, band, "send", gates=gates, message=f"message of {name}".encode()))


def admitted(queue: TurnedQueue, *lanes: str, count: int = 1) -> list[Grant]:
    grants = queue.transitions.admit(lanes, count, lease_ms=LEASE_MS).grants
    assert len(grants) == count
    return grants


def contents(client: redis.Redis, queue: TurnedQueue) -> dict[str, Any]:
    """All but what tells one call from another: answers, nonces, tokens, the journal, and what was noted when."""
    found: dict[str, Any] = {}
    for key, (kind, parts) in read_dump(client, queue.scripts.keys).contents().items():
        if key.startswith(("reply:", "wake:")) or key in ("settings", "rounds", "journal"):
            continue
        is_record = key.startswith("meta:") and kind == "hash"
        found[key] = kind, {each for each in parts if each[0] != "nonce"} if is_record else parts
    return found
