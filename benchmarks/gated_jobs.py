"""The jobs as gated actors on Bandmaster's broker.

In the flow: `apps/gated.py` runs them, questions send messages to them.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from dramatiq import Message

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.engine.controls import Controls

from .jobs import Job, Jobs

HOLD_SECONDS: Final = 600.0
"""Longer than any run: such a job ends with its worker."""


class GatedJobs(Jobs):
    """The jobs on Bandmaster's broker, every actor gated."""

    def __init__(self, url: str) -> None:
        self.banded = BandedRedisBroker(url=url)
        super().__init__(self.banded, url)

        def in_gates(number: int, sent_ns: int, tenant: int, region: int) -> None:
            self.nap_body(number, sent_ns)

        def hold() -> None:
            time.sleep(HOLD_SECONDS)

        self.hold = self.declare(hold, "hold")
        self.in_gates = self.declare(in_gates, "in_gates", gates=["tenant:{tenant}", "region:{region}", "everyone"])

    @property
    def controls(self) -> Controls:
        """Limits and settings, and the bounds of the jobs' lane."""
        return self.banded.queue.on(self.nap.queue_name).controls

    def declare(self, body: Callable[..., None], name: str, **options: Any) -> Job:
        """Declare a body as a gated actor of this broker."""
        return super().declare(body, name, band="NORMAL", **options)

    def fill(self, messages: Iterable["Message[Any]"]) -> None:
        """Send many messages, a hundred a round trip."""
        for result in self.banded.send_many(messages):
            if not isinstance(result, Message):
                raise result
