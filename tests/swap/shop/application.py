"""A ticket shop as many run one: Sentry, periodiq, Dramatiq's Prometheus middleware, results, options of its own.

Which broker it has, SHOP_BROKER says; nothing else in it knows. Its messages have options named as it pleases: a band
plays the concert, an order has a customer. With SHOP_GATED one actor of it is gated.
"""

import json
import os
import time
from typing import Any

import dramatiq
import redis
import sentry_sdk
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import Middleware
from dramatiq.middleware.prometheus import Prometheus
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from periodiq import PeriodiqMiddleware, cron  # type: ignore[import-untyped]
from sentry_sdk.envelope import Envelope
from sentry_sdk.integrations.dramatiq import DramatiqIntegration
from sentry_sdk.transport import Transport

from bandmaster import BandedRedisBroker

URL = os.environ["SHOP_REDIS_URL"]
BROKERS: dict[str, Any] = {"redis": RedisBroker, "banded": BandedRedisBroker}
GATED: dict[str, Any] = {"band": "HIGH", "gates": ["hall:{hall}"]} if os.environ.get("SHOP_GATED") else {}

shelf = redis.Redis.from_url(URL)


def note(what: str, value: object) -> None:
    """Put down what happened, for whoever asks."""
    shelf.rpush(f"shop-notes:{what}", json.dumps(value))


def notes(what: str) -> list[Any]:
    """What was put down."""
    raw: Any = shelf.lrange(f"shop-notes:{what}", 0, -1)
    return [json.loads(each) for each in raw]


class Shelf(Transport):
    """Keeps what Sentry would be sent."""

    def capture_envelope(self, envelope: Envelope) -> None:
        """An error, among others."""
        event: Any = envelope.get_event()
        if event is not None:
            extra = event.get("extra", {})
            note("sentry", [event["exception"]["values"][0]["type"], extra.get("dramatiq_message_id")])


class Orders(Middleware):
    """The shop's own: for which desk an actor works, and for whom and what a message is."""

    @property
    def actor_options(self) -> set[str]:
        """``desk``."""
        return {"desk"}

    def before_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        """Put down an order's options."""
        if message.actor_name == "book":
            note("orders", [message.options.get(name) for name in ("band", "user_id", "gates", "scheduled_at")])


sentry_sdk.init(dsn="http://key@127.0.0.1/1", transport=Shelf, integrations=[DramatiqIntegration()])
broker = BROKERS[os.environ["SHOP_BROKER"]](url=URL, namespace="shop")
for each in (Results(backend=RedisBackend(client=shelf)), PeriodiqMiddleware(skip_delay=30), Prometheus(), Orders()):
    broker.add_middleware(each)
dramatiq.set_broker(broker)

declare: Any = dramatiq.actor


@declare(queue_name="orders", desk="north", store_results=True)
def book(hall: str, seat: int) -> list[Any]:
    """Book a seat."""
    note("booked", [hall, seat])
    return [hall, seat]


@declare(queue_name="orders", store_results=True, **GATED)
def print_ticket(booking: list[Any], hall: str = "main") -> str:
    """Print what was booked."""
    note("printed", booking)
    return f"{booking[0]}/{booking[1]} {hall}"


@declare(queue_name="orders", max_retries=1, min_backoff=10, max_backoff=10)
def refund(seat: int) -> None:
    """The bank is closed."""
    note("refunds", seat)
    raise LookupError(f"no bank for seat {seat}")


@declare(queue_name="orders")
def queue_up(name: str) -> None:
    """Wait until the desk opens."""
    note("queued", name)
    while not shelf.exists(f"shop-notes:open:{name}"):
        time.sleep(0.01)


@declare(queue_name="orders", priority=10)
def advertise(number: int) -> None:
    """Not urgent."""
    note("calls", number)


@declare(queue_name="orders", priority=0)
def call_back(number: int) -> None:
    """Urgent."""
    note("calls", number)


@declare(queue_name="housekeeping", periodic=cron("* * * * *"))
def tidy() -> None:
    """Each minute."""
    note("tidied", 1)
