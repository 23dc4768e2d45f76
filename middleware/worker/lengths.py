"""``Lengths``: how long leases of this process last, and how long its broker keeps dead messages, told to the server.

In the flow: a worker says it when it boots, when it takes over a queue that was left, and again if the server has lost
it. What an operator or an earlier worker set stays. If the process dies before that, the next one says it.
"""

from typing import Final

from dramatiq import Broker
from dramatiq.brokers.redis import DEFAULT_DEAD_MESSAGE_TTL

from ...scheduler.engine.controls import Controls

DEFAULT_LEASE_TTL_MS: Final = 30_000
"""What the server takes where nobody says anything."""


class Lengths:
    """Those of one process."""

    def __init__(self, controls: Controls, lease_ttl_ms: int) -> None:
        self._controls = controls
        self._lease_ttl_ms = lease_ttl_ms

    def say(self, broker: Broker) -> None:
        """Tell the server those that are not the default.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # The scripts use the lease's length: they take a gap of more than half a lease without calls for an outage.
        if self._lease_ttl_ms != DEFAULT_LEASE_TTL_MS:
            self._controls.change_setting("lease_ttl_ms", self._lease_ttl_ms, only_if_unset=True)
        kept_ms: int = getattr(broker, "dead_message_ttl", DEFAULT_DEAD_MESSAGE_TTL)
        if kept_ms != DEFAULT_DEAD_MESSAGE_TTL:
            self._controls.change_setting("dead_message_ttl_seconds", max(1, kept_ms // 1000), only_if_unset=True)
