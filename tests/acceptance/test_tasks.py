"""A program pushes tasks, a worker of another module handles them; neither has a line about brokers."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from acceptance.workers import Workers
from bandmaster.configs.children import child_environment
from waiting import wait_until

PUSHES = """
import logging
from bandmaster import push_task
logging.basicConfig()
tasks = {1: "low", 2: "high", 3: "Critical"}
print(*(push_task("default", {"task_id": number}, priority) for number, priority in tasks.items()))
"""


@pytest.fixture
def workers(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", redis_url)
    started = Workers(redis_url, tmp_path, module="acceptance.task_handlers")
    yield started
    started.end()


def said(client: redis.Redis) -> list[bytes]:
    return client.lrange("said", 0, -1)  # type: ignore[return-value]


def push(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PUSHES],
        cwd=folder,
        env=child_environment({("redis", "url"): url}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_tasks_go_from_one_program_to_another_the_urgent_ones_first(
    redis_client: redis.Redis, redis_url: str, workers: Workers, tmp_path: Path
) -> None:
    pushed = push(redis_url, tmp_path)
    assert pushed.stdout == "True True True\n", pushed.stderr
    workers.start(threads=1)
    wait_until(lambda: len(said(redis_client)) == 3, timeout_seconds=60, what="all tasks")
    assert said(redis_client) == [b"3", b"2", b"1"]
    redis_client.delete("said")


def test_without_a_server_a_push_is_false_and_nothing_of_the_payload_is_said(tmp_path: Path) -> None:
    pushed = push("redis://127.0.0.1:1/0", tmp_path)
    assert pushed.stdout == "False False False\n", pushed.stderr
    assert pushed.stderr.count("task_not_pushed") == 3
    assert "task_id" not in pushed.stderr
