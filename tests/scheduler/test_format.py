"""The data's format: what another release wrote is refused by every call, and nothing of it is changed."""

import re
from typing import Any

import pytest
import redis
from defects.contrast import event
from faults.acts import ACTS, prepare
from model.dump import nothing_ends_by_itself, read_dump
from turned_queue import TurnedQueue

from bandmaster.scheduler.model.errors import UnknownFormat
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.library import read_lua, script_names


def test_what_is_written_first_says_its_format(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.views.status()
    assert redis_client.exists("exec_queue:settings") == 0, "a view writes nothing"
    queue.enqueue(event("x"))
    (known,) = re.findall(r"^local FORMAT = '(\d+)'", read_lua("include/settings.lua"), re.MULTILINE)
    assert redis_client.hget("exec_queue:settings", "format") == known.encode()


def test_a_format_that_is_not_known_is_refused_by_every_script_and_nothing_changes(
    redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    queue = TurnedQueue(redis_client)
    prepare(queue)
    redis_client.hset("exec_queue:settings", "format", "7")
    with nothing_ends_by_itself(redis_client, queue.scripts.keys):
        before = read_dump(redis_client, queue.scripts.keys).contents()
        for name in script_names():
            act: Any = ACTS[name]
            with subtests.test(name):
                says = r"7 is what the data .* knows \d+; run the release that wrote it"
                with pytest.raises(UnknownFormat, match=says):
                    act(queue)
                assert read_dump(redis_client, queue.scripts.keys).contents() == before


def test_the_operators_settings_do_not_reach_what_the_engine_keeps_beside_them(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    kept = redis_client.hgetall("exec_queue:settings")
    for name in ("format", "lease_clock", "revision", "paused", "limited"):
        with pytest.raises(ValueError, match="is not a setting"):
            queue.controls.change_setting(name, 5)
        assert name not in queue.views.status().settings
    assert redis_client.hgetall("exec_queue:settings") == kept
