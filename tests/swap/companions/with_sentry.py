"""Sentry: its integration adds its middleware from `Broker.__init__`, and reports what bodies raise.

Of a message that was cancelled before it ran it is let know, as of one that is skipped; it has nothing to report.
"""

import sys
from typing import Any

import sentry_sdk
from dramatiq.middleware import Middleware, Retries
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.dramatiq import DramatiqIntegration, SentryMiddleware
from sentry_sdk.transport import Transport

from bandmaster import BandedRedisBroker
from bandmaster.middleware import ConcurrencyGate, PriorityBands
from swap.companions.working import GATED, JOIN_MS, declare, running
from waiting import wait_until

reported: list[tuple[str, str]] = []


class Kept(Transport):
    """Keeps what would be sent."""

    def capture_envelope(self, envelope: Envelope) -> None:
        """An error, or a trace."""
        event: Any = envelope.get_event()
        if event is not None and event.get("exception"):
            (raised,) = event["exception"]["values"]
            reported.append((raised["type"], event["extra"]["dramatiq_message_id"]))


def made(url: str, middleware: list[Middleware] | None) -> BandedRedisBroker:
    """A broker, whose middleware is in order."""
    broker = BandedRedisBroker(url=url, middleware=middleware)
    broker.emit_after("process_boot")
    kinds = [type(each) for each in broker.middleware]
    assert kinds[0] is SentryMiddleware, kinds
    assert kinds[-2:] == [PriorityBands, ConcurrencyGate], kinds
    assert kinds.count(Retries) == 1, kinds
    return broker


def fails() -> None:
    """The body of both actors."""
    raise LookupError


def main(url: str) -> None:
    """Make brokers, and let bodies fail."""
    integrations = [DramatiqIntegration()]
    sentry_sdk.init(dsn="http://key@127.0.0.1/1", transport=Kept, integrations=integrations, traces_sample_rate=1)
    made(url, None).close()
    broker = made(url, [Retries(max_retries=1, min_backoff=10)])
    actors = [
        declare(fails, broker=broker, actor_name="gated", **GATED),
        declare(fails, broker=broker, actor_name="ungated"),
    ]
    with running(broker):
        sent = [actor.send() for actor in actors]
        cancelled = actors[0].send_with_options(delay=3_600_000).message_id
        broker.queue.cancel(cancelled)
        wait_until(lambda: len(reported) == 4, what="each attempt is reported")
        wait_until(lambda: broker.queue.views.untold("default") == 0, what="the cancelled one's end is told")
        broker.join("default", timeout=JOIN_MS)
    assert sorted(reported) == sorted(2 * [("LookupError", message.message_id) for message in sent]), reported


if __name__ == "__main__":
    main(sys.argv[1])
