"""An ordinary application: its broker is made where it is imported, and its server is not there."""

from typing import Any

import dramatiq
import redis
from dramatiq import Actor, Broker
from dramatiq.middleware import GroupCallbacks, Middleware
from dramatiq.rate_limits.backends import RedisBackend as RedisBarriers
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as RedisResults

from bandmaster import BandedRedisBroker

NOWHERE = "redis://127.0.0.1:1"
ended: list[str] = []


class Hooks(Middleware):
    """Notes how often its hooks are called."""

    def __init__(self) -> None:
        self.boots = 0
        self.declared: list[str] = []

    def after_process_boot(self, broker: Broker) -> None:
        """Count it."""
        self.boots += 1

    def after_declare_actor(self, broker: Broker, actor: "Actor[..., Any]") -> None:
        """Note it."""
        self.declared.append(actor.actor_name)


hooks = Hooks()
broker = BandedRedisBroker(url=NOWHERE)
broker.add_middleware(Results(backend=RedisResults(url=NOWHERE)))
broker.add_middleware(GroupCallbacks(RedisBarriers(client=redis.Redis.from_url(NOWHERE))))
broker.add_middleware(hooks)


@dramatiq.actor(broker=broker, band="HIGH", gates=["tenant:{tenant}"], store_results=True)
def report(tenant: str, month: str) -> str:
    """Make a report."""
    ended.append(f"{tenant} {month}")
    return f"{tenant}.pdf"


@dramatiq.actor(broker=broker, queue_name="mails")
def mail(text: str) -> None:
    """Send a mail."""
    ended.append(f"mail {text}")


def report_all(tenants: list[str]) -> int:
    """What an application does beside `send`: how many were accepted."""
    return len(broker.send_many([report.message(tenant, "2026-11") for tenant in tenants]))
