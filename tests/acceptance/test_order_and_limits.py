"""Order, limits, pause, shutdown, sharing of threads, messages of other producers: with workers of this process."""

import threading
import time
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker

from acceptance.conftest import StartWorker
from acceptance.test_features import all_ended
from bandmaster import BandedRedisBroker, InvalidRequest
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until


def test_they_start_by_band_and_first_in_first_out_under_the_limit(
    broker: BandedRedisBroker, start_worker: StartWorker
) -> None:
    started: list[tuple[int, int]] = []

    @dramatiq.actor(band="NORMAL")
    def run(band: int, place: int) -> None:
        started.append((band, place))

    broker.queue.controls.change_setting("max_concurrent_executions", 1, lane="default")
    for place in range(50):
        run.send_with_options(args=(place % 5, place), band=place % 5)
    start_worker()
    all_ended(broker)
    assert started == sorted(started)
    assert len(started) == 50


def test_a_gate_of_a_template_holds_and_the_rest_goes_on(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    lock = threading.Lock()
    running: dict[str, int] = {"a": 0, "b": 0}
    most: dict[str, int] = {"a": 0, "b": 0}

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def run(tenant: str) -> None:
        with lock:
            running[tenant] += 1
            most[tenant] = max(most[tenant], running[tenant])
        if tenant == "b":
            wait_until(lambda: most["b"] > 1, what="two at once")
        time.sleep(0.02)
        with lock:
            running[tenant] -= 1

    broker.queue.controls.set_limit("tenant:a", 1)
    for place in range(40):
        run.send("ab"[place % 2])
    start_worker()
    all_ended(broker)
    assert most["a"] == 1
    assert most["b"] > 1


def test_a_paused_worker_holds_nothing_and_goes_on_when_resumed(
    broker: BandedRedisBroker, start_worker: StartWorker
) -> None:
    ran: list[int] = []
    told = threading.Event()

    @dramatiq.actor(band="HIGH")
    def run(place: int) -> None:
        ran.append(place)
        assert told.wait(GENEROUS_SECONDS)

    worker = start_worker()
    for place in range(40):
        run.send(place)
    wait_until(lambda: ran, what="the first")
    pausing = threading.Thread(target=worker.pause)  # it waits for the bodies
    pausing.start()
    wait_until(lambda: all(each.paused for each in worker.workers), what="the pause")
    told.set()
    pausing.join()
    wait_until(lambda: broker.queue.on("default").get_queue_status()["active_count"] == 0, what="the hand-back")
    assert len(ran) < 40
    worker.resume()
    all_ended(broker)
    assert sorted(ran) == list(range(40))


def test_a_stopped_worker_loses_nothing(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def run(place: int) -> None:
        time.sleep(0.05)
        ran.append(place)

    worker = start_worker()
    for place in range(40):
        run.send(place)
    wait_until(lambda: len(ran) > 4, what="a few runs")
    worker.stop()
    status = broker.queue.on("default").get_queue_status()
    assert status["active_count"] == 0
    assert status["queue_depth"] + len(ran) == 40
    start_worker()
    all_ended(broker)
    assert sorted(ran) == list(range(40))


def test_gated_ungated_and_foreign_messages_share_a_queue(
    broker: BandedRedisBroker, redis_url: str, start_worker: StartWorker
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def gated(name: str) -> None:
        ran.append(name)

    @dramatiq.actor
    def ungated(name: str) -> None:
        ran.append(name)

    start_worker()
    foreign = RedisBroker(url=redis_url)
    for place in range(5):
        foreign.enqueue(gated.message(f"foreign-{place}"))
        ungated.send(f"ungated-{place}")
    foreign.enqueue(gated.message("foreign-delayed"), delay=200)
    wait_until(lambda: len(ran) == 11, what="all messages")
    broker.join("default", timeout=GENEROUS_MS)
    all_ended(broker)
    foreign.client.close()


def test_a_lane_and_a_plain_queue_share_the_threads(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH", queue_name="lane")
    def gated() -> None:
        time.sleep(0.005)
        ran.append("gated")

    @dramatiq.actor(queue_name="plain")
    def ungated() -> None:
        time.sleep(0.005)
        ran.append("ungated")

    for _ in range(200):
        ungated.send()
        gated.send()
    start_worker()
    wait_until(lambda: len(ran) == 400, what="all messages")
    all_ended(broker, "lane")
    # While both had plenty, neither starved the other.
    assert 20 < ran[:200].count("gated") < 180


def test_bad_input_is_refused_at_send_and_leaves_nothing(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"])
    def gated(tenant: str, text: str = "") -> None: ...

    def queue_keys() -> set[bytes]:
        keys: Any = redis_client.keys("exec_queue*")
        return set(keys)

    before = queue_keys()
    refused: dict[str, dict[str, Any]] = {
        "priority": {"args": ("a",), "band": "URGENT"},
        "arguments": {"args": ()},
        "gates": {"args": ({},)},
        "execution_id": {"args": ("a",), "execution_id": "not an id"},
        "scheduled_at": {"args": ("a",), "scheduled_at": "tomorrow"},
        "message": {"args": ("a", "a" * 2_000_000)},
        "user": {"args": ("a",), "user_id": "\n"},
    }
    for field, options in refused.items():
        with pytest.raises(InvalidRequest) as caught:
            gated.send_with_options(**options)
        assert field in str(caught.value), str(caught.value)
    with pytest.raises(InvalidRequest, match="is not a priority"):
        dramatiq.actor(band="URGENT", actor_name="wrong")(lambda: None)
    assert queue_keys() == before


def test_send_many_gives_a_result_each(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH", gates=["tenant:{place}"])
    def run(place: int) -> None:
        ran.append(place)

    good = [run.message(place) for place in range(250)]
    named = run.message_with_options(args=(250,), execution_id="order-250")
    results = broker.send_many([*good, run.message(None), named, named])  # type: ignore[arg-type]
    assert all(isinstance(result, dramatiq.Message) for result in results[:250])
    assert [type(result).__name__ for result in results[250:]] == ["InvalidRequest", "Message", "DuplicateExecution"]
    start_worker()
    all_ended(broker)
    assert sorted(ran) == list(range(251))
