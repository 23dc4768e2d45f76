"""A simple priority queue on Redis, the baseline for the engine's cost on the server.

It has no leases, no attempts, only one limit, no journal, no duplicate guard. Its Lua script counts, pops and adds. In
the flow: only questions about the server's cost use it.
"""

import json
import time
from typing import Any, Final

import redis

BAND_WIDTH: Final = 10**12
EVENT_TTL_SECONDS: Final = 24 * 60 * 60

TRY_SCHEDULE: Final = """
local active_key  = KEYS[1]
local pending_key = KEYS[2]
local max_active  = tonumber(ARGV[1])

local current = redis.call('SCARD', active_key)
if current >= max_active then
    return nil
end

local result = redis.call('ZPOPMIN', pending_key, 1)
if #result == 0 then
    return nil
end

local exec_id = result[1]
redis.call('SADD', active_key, exec_id)
return exec_id
"""


class SimpleQueue:
    """A queue with enqueue, try_schedule and release only."""

    def __init__(self, client: "redis.Redis", prefix: str = "simple_queue") -> None:
        self._client: Any = client
        self._pending, self._active = f"{prefix}:pending", f"{prefix}:active"
        self._event = f"{prefix}:event:"
        self._try_schedule = client.register_script(TRY_SCHEDULE)

    def enqueue(self, execution_id: str, band: int, event: dict[str, object]) -> int:
        """Store the event and put the id into the pending set; returns its position."""
        score = band * BAND_WIDTH + int(time.time() * 1000)
        self._client.set(self._event + execution_id, json.dumps(event), ex=EVENT_TTL_SECONDS)
        self._client.zadd(self._pending, {execution_id: score})
        return self._client.zrank(self._pending, execution_id)

    def try_schedule(self, max_active: int) -> tuple[str, bytes] | None:
        """Take the best pending execution and its event, if fewer than `max_active` are active."""
        execution_id: bytes | None = self._try_schedule(keys=[self._active, self._pending], args=[max_active])
        if execution_id is None:
            return None
        return execution_id.decode(), self._client.get(self._event + execution_id.decode())

    def release(self, execution_id: str) -> None:
        """Remove an execution from the active set and delete its event."""
        self._client.srem(self._active, execution_id)
        self._client.delete(self._event + execution_id)
