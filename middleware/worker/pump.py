"""Asks for executions of all lanes at once, as many as the worker process has free threads.

In the flow: while a worker thread is free, the one pump thread of a process waits on the wake lists of all lanes, and
asks when it is woken. Granted executions go straight to the worker's threads (`exchange.py`). In a saturated worker,
settlements admit the next executions, and the pump only marks its lanes as live once a second. So an idle worker's
calls grow with its processes, not its lanes. If the process dies here, its leases run out.
"""

import time
from collections.abc import Callable
from typing import Final

from ..grants.asked import Asking
from ..grants.exchange import Exchange
from ..grants.permits import LANES, Permits
from .wake_lists import WakeLists, WakeToken

LONGEST_WAIT_SECONDS: Final = 1.0
HALTED_PAUSE_SECONDS: Final = 0.1
"""The pause between two checks whether any lane may be admitted again."""
SHORTEST_REST_SECONDS: Final = 0.005
SHARED_REST_SECONDS: Final = 0.1
"""How long it rests while plain queues hold some threads: those become free without admitting an execution."""


class Pump:
    """Asks for executions, or rests until it has to ask again. For one thread."""

    def __init__(
        self,
        exchange: Exchange,
        permits: Permits,
        wake_lists: WakeLists,
        *,
        lanes: Callable[[], tuple[str, ...]],
        point_to_list: Callable[[str], None],
        tell: Callable[[tuple[str, ...]], None],
    ) -> None:
        """Prepare the pump without a call.

        Args:
            exchange: Makes the calls that admit executions.
            permits: The permits of the worker's threads.
            wake_lists: The wake lists of the server.
            lanes: Returns the lanes from which executions may be admitted now.
            point_to_list: Called with a lane whose Dramatiq list has a message.
            tell: Called with the lanes when one of their outboxes holds an end.
        """
        self._exchange = exchange
        self._permits = permits
        self._wake_lists = wake_lists
        self._lanes = lanes
        self._point_to_list = point_to_list
        self._tell = tell
        self._asking: Asking | None = None
        """The request that has no answer yet: it is repeated before any new one."""
        self._asked_for: tuple[str, ...] = ()
        self._rests_until = 0.0
        self._knows_more = True
        """Whether an execution could probably be admitted, so that it is worth waiting for a permit."""

    def round(self, longest_seconds: float) -> None:
        """Rest a while, or ask for executions and start those that are granted.

        Args:
            longest_seconds: No wait is longer.

        Raises:
            QueueUnavailable: If Redis did not answer.
            redis.RedisError: Likewise.
        """
        self._exchange.tend()
        lanes = self._lanes()
        # A request that has no answer yet is repeated, whatever may be admitted now: it holds permits.
        if not lanes and self._asking is None:
            time.sleep(min(longest_seconds, HALTED_PAUSE_SECONDS))
            return
        if lanes != self._asked_for:
            self._ask_soon()
        rest_seconds = self._rests_until - time.monotonic()
        if rest_seconds > 0:
            self._rest(lanes, max(SHORTEST_REST_SECONDS, min(rest_seconds, longest_seconds)))
            return
        self._ask(longest_seconds)

    def _ask_soon(self) -> None:
        self._rests_until, self._knows_more = 0.0, True

    def _rest(self, lanes: tuple[str, ...], seconds: float) -> None:
        if self._permits.free == 0:
            # Do not wait on the wake lists: another process that has a free thread should get the token.
            is_shared = self._permits.held(LANES) < self._permits.total
            if not self._permits.wait_until_free(min(seconds, SHARED_REST_SECONDS) if is_shared else seconds):
                self._rests_until = 0.0
            return
        token = self._wake_lists.wait(lanes, seconds)
        if token is not None:
            self._follow(token)

    def _follow(self, token: WakeToken) -> None:
        # Tokens of both kinds share a list of bounded length, so a token for the Dramatiq list may have crowded out
        # one for the lane: ask for executions after either.
        self._ask_soon()
        if self._permits.free == 0 or token.lane not in self._lanes():
            # The last thread was taken, or the queue was paused, just now.
            self._wake_lists.push_back(token)
        elif token.points_to_list:
            self._point_to_list(token.lane)

    def _ask(self, longest_seconds: float) -> None:
        if self._asking is None:
            # Wait for a permit, in competition with the plain queues, only if an execution is known to wait.
            permits = self._permits.take(
                LANES, self._permits.total, longest_seconds if self._knows_more else 0.0, in_hand=True
            )
            self._asking = Asking(self._lanes, permits)
        asking, admitted = self._asking, self._exchange.ask(self._asking)
        self._asking, self._asked_for = None, asking.lanes
        if admitted.untold:
            self._tell(asking.lanes)
        self._knows_more = admitted.more or 0 < asking.permits <= admitted.started
        if not self._knows_more:
            # An execution that becomes eligible pushes a token.
            known_seconds = longest_seconds if admitted.wait_ms is None else admitted.wait_ms / 1000
            self._rests_until = time.monotonic() + min(longest_seconds, known_seconds)
        elif asking.permits and not admitted.started:
            self._rests_until = time.monotonic() + SHORTEST_REST_SECONDS
