"""The minimal consumer on Redis: waits in BLPOP and records when it woke up."""

import os
import time
from typing import Any

import redis

from ..records import SERVER_VARIABLE, Recorder

WAITED_FOR = "benchmark:pop"


def run() -> None:
    """Record each push, until this process is killed."""
    client, recorder = redis.Redis.from_url(os.environ[SERVER_VARIABLE]), Recorder()
    while True:
        popped: Any = client.blpop([WAITED_FOR])
        started_ns = time.monotonic_ns()
        number, sent_ns = map(int, popped[1].split())
        recorder.write(number, sent_ns, started_ns)


if __name__ == "__main__":
    run()
