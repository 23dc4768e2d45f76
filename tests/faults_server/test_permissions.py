"""The permissions that the manual names suffice, for a queue whose library is not loaded yet."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from defects.contrast import event

from bandmaster.configs.children import child_environment
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer

pytestmark = pytest.mark.slow

MANUAL = Path(__file__).parents[2] / "docs" / "operations.md"


def restricted(server: OwnServer, client: redis.Redis, rules: list[str]) -> ExecutionQueueService:
    client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret", *rules)
    return ExecutionQueueService(redis.Redis.from_url(server.url, username="app", password="secret"))


def test_the_permissions_of_the_manual_suffice(server: OwnServer, client: redis.Redis, tmp_path: Path) -> None:
    (rules,) = re.findall(r"An ACL user needs `([^`]+)`", MANUAL.read_text(encoding="utf-8"))
    queue = restricted(server, client, rules.split())
    queue.controls.set_limit("action:pod", 1)
    assert queue.enqueue(event("x")) == 0
    assert queue.try_schedule() is not None
    assert queue.release("x", 1) is Code.OK
    assert queue.views.status().queue_depth == 0
    settings = {("redis", "url"): server.url.replace("unix://", "unix://app:secret@")}
    command = [sys.executable, "-m", "bandmaster", "status", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=child_environment(settings), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_without_them_it_is_told_what_was_refused(server: OwnServer, client: redis.Redis) -> None:
    queue = restricted(server, client, ["~exec_queue:*", "+@connection"])
    with pytest.raises(QueueUnavailable, match="fcall"):
        queue.enqueue(event("x"))
