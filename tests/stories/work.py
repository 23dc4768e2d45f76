"""Work for `application.py`, sent as its own producers' broker does, and what its bodies said."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import redis
from dramatiq import Message

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.queue import ExecutionQueueService

LANE: Final = "default"
CRITICAL: Final = 0
NORMAL: Final = 2


@dataclass(frozen=True, slots=True)
class Work:
    """The queue, and the server to which the bodies speak."""

    queue: ExecutionQueueService
    said: redis.Redis

    def send(
        self,
        *names: str,
        seconds: float = 0.0,
        band: int = NORMAL,
        gates: Iterable[str] = (),
        delay_ms: int | None = None,
        hangs_first: bool = False,
    ) -> None:
        """Send jobs; each is named as its execution is."""
        due_ms = None if delay_ms is None else self.queue.views.server_time_ms() + delay_ms
        outcomes = self.queue.transitions.park_many(
            [
                Candidate(
                    name,
                    LANE,
                    band,
                    "job",
                    gates=tuple(gates),
                    timeout_ms=60_000,
                    due_ms=due_ms,
                    message=Message[Any](
                        queue_name=LANE,
                        actor_name="job",
                        args=(name, seconds, hangs_first),
                        kwargs={},
                        options={},
                    ).encode(),
                )
                for name in names
            ]
        )
        assert not [each for each in outcomes if isinstance(each, QueueRejected)]

    def began_after(self, name: str) -> list[int]:
        """How many others had ended each time that a job began."""
        raw: Any = self.said.lrange(f"began:{name}", 0, -1)
        return [int(count) for count in raw]

    def ended(self) -> list[str]:
        """The jobs whose bodies came to their end, in that order."""
        raw: Any = self.said.lrange("ended", 0, -1)
        return [name.decode() for name in raw]

    def left(self) -> int:
        """How many executions live."""
        return self.queue.views.lane_size(LANE)
