"""`slot` and `push_task` without a queue or broker take those of the broker that is set now, whenever that was done."""

from collections.abc import Iterator

import dramatiq
import dramatiq.broker
import pytest
from dramatiq.brokers.stub import StubBroker

from bandmaster import BandedRedisBroker, get_queue_stats, push_task, slot
from bandmaster.configs.settings import load_settings
from bandmaster.scheduler.server.connection import client_of

NAME = "core.set-later"


@pytest.fixture
def _unset(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No broker is set, and nobody has taken a slot of the settings' queue."""
    monkeypatch.setattr("bandmaster.scheduler.slots.slots._opened._slots", {})
    load_settings.cache_clear()
    before = dramatiq.broker.global_broker
    dramatiq.broker.global_broker = None
    yield
    load_settings.cache_clear()
    dramatiq.broker.global_broker = before


def broker_of(url: str, prefix: str) -> BandedRedisBroker:
    return BandedRedisBroker(client=client_of(url), prefix=prefix)


@pytest.mark.usefixtures("_unset", "redis_client")
def test_slots_follow_the_broker_that_is_set_now(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_REDIS__URL", redis_url)
    monkeypatch.setenv("BANDMASTER_REDIS__PREFIX", "of_settings")
    first, second = broker_of(redis_url, "first"), broker_of(redis_url, "second")
    with slot(NAME, limit=1):  # no broker is set: the queue of the settings
        assert get_queue_stats(NAME).active_count == 1
        for broker in (first, second):
            dramatiq.set_broker(broker)
            assert get_queue_stats(NAME).active_count == 0
            with slot(NAME, limit=1, timeout=5):
                assert get_queue_stats(NAME).active_count == 1
                assert get_queue_stats(NAME, queue=broker.queue).active_count == 1
        dramatiq.set_broker(StubBroker())  # one without slots leaves them to the settings
        assert get_queue_stats(NAME).active_count == 1


@pytest.mark.usefixtures("_unset", "redis_client")
def test_the_settings_say_how_long_a_slot_of_the_set_broker_is_waited_for(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANDMASTER_QUEUE__QUEUE_TIMEOUT_SECONDS", "1")
    dramatiq.set_broker(broker_of(redis_url, "waiting"))
    with slot(NAME, limit=1), pytest.raises(TimeoutError), slot(NAME, limit=1):
        pass


@pytest.mark.usefixtures("_unset", "redis_client")
def test_tasks_follow_the_broker_that_is_set_now(redis_url: str) -> None:
    for prefix in ("first", "second"):
        broker = broker_of(redis_url, prefix)
        dramatiq.set_broker(broker)
        assert push_task("set-later", {"n": 1})
        assert broker.queue.views.lane_size("set-later") == 1
