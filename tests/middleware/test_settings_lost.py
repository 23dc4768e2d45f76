"""A server that comes back empty under a living worker is told again what was configured and declared."""

import dramatiq
import pytest
import redis
from working import running

from bandmaster import BandedRedisBroker
from bandmaster.configs.settings import Settings
from bandmaster.middleware.intake import declaration
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until

LOOK_SECONDS = 0.2


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "LOOK_SECONDS", LOOK_SECONDS)


def test_what_was_configured_and_declared_holds_again_when_the_server_has_lost_it(
    redis_url: str, redis_client: redis.Redis
) -> None:
    settings = Settings.model_validate({"limits": {"max_concurrent": 2}})
    broker = BandedRedisBroker(
        client=client_of(redis_url), settings=settings, max_concurrent_executions=3, lease_ttl_ms=20_000
    )

    @dramatiq.actor(broker=broker, band="HIGH", gates=["gpu"], limits={"gpu": 1})
    def work() -> None: ...  # nobody sends: the worker is alone with the server

    def told() -> dict[str, object]:
        limits, of_executions = "exec_queue:limits:defaults", "exec_queue:settings"
        return {
            "max_concurrent": redis_client.hget(of_executions, "max_concurrent"),
            "bound": redis_client.hget(of_executions, "lane:default:max_concurrent_executions"),
            "lease": redis_client.hget(of_executions, "lease_ttl_ms"),
            "limit": redis_client.hget(limits, "gpu\ndefault"),
        }

    everything = {"max_concurrent": b"2", "bound": b"3", "lease": b"20000", "limit": b"1"}
    broker.emit_after("process_boot")
    with running(broker):
        wait_until(lambda: told() == everything, what="all is told")
        redis_client.flushall()
        wait_until(lambda: told() == everything, what="all is told again")
    broker.close()
