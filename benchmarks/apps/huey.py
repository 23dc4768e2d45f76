"""One job on huey, another task queue on Redis, as its users write it; its consumers wait in a blocking pop.

In the flow: `idle_latency` runs `huey_consumer benchmarks.apps.huey.huey`, and sends to it by the same module.
"""

import os
import time
from collections.abc import Callable
from typing import Any, cast

from huey import RedisHuey  # pyright: ignore[reportMissingTypeStubs]

from ..records import SERVER_VARIABLE, Recorder

huey: Any = RedisHuey(url=os.environ[SERVER_VARIABLE])
_recorder = Recorder()


def _count(number: int, sent_ns: int) -> None:
    started_ns = time.monotonic_ns()
    huey.storage.conn.incr("bench:count")
    _recorder.write(number, sent_ns, started_ns)


count = cast("Callable[[int, int], object]", huey.task()(_count))
"""Sends the job."""
