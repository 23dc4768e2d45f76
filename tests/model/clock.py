"""A clock that a test turns: the scripts' include `now` with one line replaced, reading a test's key instead of TIME.

All other clocks are the engine's own, so that the rising clock of the scores is the one that is tested.
"""

from typing import Final

import redis

from bandmaster.scheduler.keys import Keys
from bandmaster.scheduler.transport.library import read_lua

START_MS: Final = 1_800_000_000_000
_OWN_LINES: Final = (
    "    local time = call('TIME')\n    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)\n"
)
_OWN_PACE: Final = "        local left = LOOKED_A_CALL\n"
_SLOW_PACE: Final = "        local left = now % 3 == 0 and 1 or 0\n"
_TURNED_LINE: Final = "    now = tonumber(call('GET', prefix .. ':test-clock'))\n"


def turned_includes() -> dict[str, str]:
    """For `Scripts(…, replaced_includes=…)`."""
    own = read_lua("include/now.lua")
    assert own.count(_OWN_LINES) == 1, "include/now.lua reads the time in another way now"
    return {"now": own.replace(_OWN_LINES, _TURNED_LINE)}


def slow_includes() -> dict[str, str]:
    """The same; after its kind's limit rose, a call looks at one closed gate or none, so that games see the others."""
    own = read_lua("include/raised.lua")
    assert own.count(_OWN_PACE) == 1, "include/raised.lua goes at another pace now"
    return turned_includes() | {"raised": own.replace(_OWN_PACE, _SLOW_PACE)}


class Clock:
    """The time of one queue's scripts, in unix milliseconds; it stands still until it is turned."""

    def __init__(self, client: redis.Redis, keys: Keys, now_ms: int = START_MS) -> None:
        self._client = client
        self._key = f"{keys.prefix}:test-clock"
        self.now_ms = now_ms
        self.turn(0)

    def turn(self, by_ms: int) -> None:
        """Forward, or back if negative."""
        self.now_ms += by_ms
        self._client.set(self._key, self.now_ms)
