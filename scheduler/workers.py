"""Worker processes that live: each signs every two seconds, with its threads, its lanes and what they run.

In the flow: a worker's own thread signs (`middleware/worker/signing.py`), beside all that admits and settles; the
command line and the API read. A signature expires, so one of a process that was killed or cut off is gone within
seconds. Nothing depends on it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from .transport.reading import Reader, repeated

SIGNED_SECONDS: Final = 2.0
EXPIRES_MS: Final = 8_000
"""Some signatures may be late."""
_LISTED_MS: Final = 60_000
"""How long the list of names is kept after the last signature."""
MOST_SHOWN: Final = 200
"""How many of its executions a worker names."""


@dataclass(frozen=True, slots=True)
class Running:
    """An execution that a thread works on."""

    execution_id: str
    attempt: int
    lane: str


@dataclass(frozen=True, slots=True)
class WorkerSigned:
    """A worker process as it signed last."""

    worker_id: str
    """Made when it began."""
    host: str
    pid: int
    release: str
    """The version of Bandmaster."""
    since_ms: int
    """When it began, by the server's clock."""
    threads: int
    busy: int
    """How many of them work on something."""
    lanes: tuple[str, ...]
    """From which it takes executions now."""
    running: tuple[Running, ...]
    """What they work on, as far as it has a lane; the first `MOST_SHOWN`."""
    stopping: bool
    """Whether it takes nothing more, and ends when what runs has ended."""


class Workers(Reader):
    """The worker processes of one queue. Each method raises QueueUnavailable if the server does not answer."""

    def sign(self, worker: WorkerSigned) -> None:
        """Say that a worker lives; one round trip."""
        self._sign(worker.worker_id, json.dumps(asdict(worker), separators=(",", ":")))

    @repeated
    def _sign(self, worker_id: str, signature: str) -> None:
        keys = self._scripts.keys
        pipeline = self._client.pipeline(transaction=False)
        pipeline.set(keys.worker(worker_id), signature, px=EXPIRES_MS)
        pipeline.sadd(keys.workers(), worker_id)
        pipeline.pexpire(keys.workers(), _LISTED_MS)
        pipeline.execute()

    def leave(self, worker_id: str) -> None:
        """Say that a worker has ended; tried once, since its signature expires anyhow.

        Raises:
            redis.RedisError: If the server does not answer.
        """
        keys = self._scripts.keys
        pipeline = self._client.pipeline(transaction=False)
        pipeline.delete(keys.worker(worker_id))
        pipeline.srem(keys.workers(), worker_id)
        pipeline.execute()

    @repeated
    def alive(self) -> list[WorkerSigned]:
        """Return those that live, those that began first before the others."""
        keys = self._scripts.keys
        names = [raw.decode() for raw in self._client.smembers(keys.workers())]
        signatures: list[bytes | None] = self._client.mget([keys.worker(name) for name in names]) if names else []
        gone = [name for name, raw in zip(names, signatures, strict=True) if raw is None]
        if gone:
            # One that signs again meanwhile is listed again by its next signature.
            self._client.srem(keys.workers(), *gone)
        found = [_read(raw) for raw in signatures if raw is not None]
        return sorted((each for each in found if each is not None), key=lambda each: (each.since_ms, each.worker_id))


def _read(raw: bytes) -> WorkerSigned | None:
    """Read a signature; None: another release's, which has other fields."""
    try:
        given: dict[str, Any] = json.loads(raw)
        running: Sequence[dict[str, Any]] = given.pop("running")
        lanes = tuple(given.pop("lanes"))
        return WorkerSigned(**given, lanes=lanes, running=tuple(Running(**each) for each in running))
    except (ValueError, TypeError, KeyError):
        return None
