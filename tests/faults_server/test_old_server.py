"""A server that has no functions, as before Redis 7.0, is refused in so many words."""

import tempfile
from pathlib import Path

import pytest
import redis

from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer

pytestmark = pytest.mark.slow


def test_a_server_without_functions_is_told_which_is_needed() -> None:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        server = OwnServer(Path(folder), "--rename-command", "FCALL", "")
        server.start()
        try:
            with pytest.raises(QueueUnavailable, match=r"Redis 7\.0 or newer or Valkey is needed"):
                ExecutionQueueService(redis.Redis.from_url(server.url)).get_queue_status()
        finally:
            server.end()
