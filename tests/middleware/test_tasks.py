"""`push_task` and `task_handler`: dicts by queue and priority, True once Redis has them, False when it refuses."""

import threading
from datetime import UTC, datetime
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService, push_task, task_handler
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from bandmaster.testing import in_memory, working
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until


def waiting(queue: ExecutionQueueService) -> list[str]:
    return [queue.views.meta(each)["band"] for each in queue.views.pending()]


def test_the_handler_of_the_queue_gets_the_payload(broker: BandedRedisBroker) -> None:
    got: list[dict[str, Any]] = []
    payload = {"task_id": 7, "tags": ["a", None, 1.5], "nested": {"ünïcode": True}}
    assert push_task("default", payload)

    @task_handler("default")
    def handle(payload: dict[str, Any]) -> None:
        got.append(payload)

    assert push_task("default", {"task_id": 8}, "high")
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert got == [{"task_id": 8}, payload], "what was pushed as high went first"


def test_a_coroutine_handles_tasks_too(redis_url: str, redis_client: redis.Redis) -> None:
    broker = BandedRedisBroker(client=client_of(redis_url))
    broker.add_middleware(dramatiq.middleware.AsyncIO())
    got: list[int] = []

    @task_handler("default", broker=broker)
    async def handle(payload: dict[str, Any]) -> None:
        got.append(payload["task_id"])

    assert broker.push_task("default", {"task_id": 1})
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    broker.close()
    assert got == [1]


@pytest.mark.parametrize(
    ("priority", "band"),
    [("high", Priority.HIGH), ("low", Priority.LOW), *((each.name.title(), each) for each in Priority), (0, 0)],
)
def test_priorities_are_bands(
    broker: BandedRedisBroker, queue: ExecutionQueueService, priority: Any, band: int
) -> None:
    assert push_task("default", {}, priority)
    assert waiting(queue) == [str(int(band))]


def test_without_a_priority_it_is_low(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    assert push_task("default", {})
    assert waiting(queue) == ["3"]


def _endless() -> dict[str, Any]:
    payload: dict[str, Any] = {}
    payload["self"] = payload
    return payload


BAD_INPUT: tuple[tuple[Any, Any, Any, str], ...] = (
    ("default", ["secret"], "low", "payload: a value of type list is no dict"),
    ("default", '{"a": "secret"}', "low", "is no dict"),
    ("default", {"secret": datetime.now(UTC)}, "low", "payload: it is not JSON"),
    ("default", {"secret": float("nan")}, "low", "payload: it is not JSON"),
    ("default", _endless(), "low", "payload: it is not JSON"),
    ("default", {"deep": [{7: "secret"}]}, "low", "payload: a key in it is no text"),
    ("default", {}, "urgent", "priority: 'urgent' is not a priority"),
    ("default", {}, "hihg", "HIGH is meant"),
    ("default", {}, None, "is not a priority"),
    ("no such name", {}, "low", "queue: 'no such name' is no queue's name"),
    (None, {}, "low", "queue: None is no queue's name"),
)


def test_bad_input_is_refused_in_words_and_leaves_nothing(
    broker: BandedRedisBroker, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    for queue_name, payload, priority, says in BAD_INPUT:
        with subtests.test(says):
            with pytest.raises(ValueError, match=says) as refused:
                push_task(queue_name, payload, priority)
            assert isinstance(refused.value, InvalidRequest)
            assert "secret" not in str(refused.value).replace('\'{"a": "secret"}\'', "")
            assert redis_client.keys("*") == []


def test_a_refusal_and_a_server_that_is_away_are_false_and_logged_without_the_payload(
    broker: BandedRedisBroker, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    queue.controls.change_setting("max_queue_size", 1)
    assert push_task("default", {"secret": "hunter2"})
    assert not push_task("default", {"secret": "hunter2"})
    assert "Queue full" in caplog.text
    with client_of("redis://127.0.0.1:1/0") as nowhere:
        away = BandedRedisBroker(client=nowhere, deadline_seconds=0.2)
        assert not push_task("default", {"secret": "hunter2"}, broker=away)
        away.close()
    assert caplog.text.count("task_not_pushed") == 2
    assert "hunter2" not in caplog.text
    assert queue.views.status().queue_depth == 1


def test_a_second_push_under_the_same_name_is_true_and_runs_once(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    assert push_task("default", {"task_id": 7}, execution_id="task-7")
    assert push_task("default", {"task_id": 7}, execution_id="task-7")
    assert queue.views.pending() == ["task-7"]


def test_a_task_may_be_scheduled(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    assert push_task("default", {}, execution_id="later", scheduled_at="2126-11-01T00:00:00+00:00")
    assert queue.views.meta("later")["state"] == State.SCHEDULED


def test_a_handler_that_raises_is_tried_again_three_times_and_is_a_dead_letter_then(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    tries: list[int] = []

    @task_handler("default", min_backoff=1, max_backoff=2)
    def handle(payload: dict[str, Any]) -> None:
        tries.append(payload["task_id"])
        raise ValueError

    assert push_task("default", {"task_id": 7}, execution_id="fails")
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert tries == [7] * 4
    assert queue.views.dead() == ["fails"]
    assert queue.views.meta("fails")["state"] == State.FAILED


def test_the_number_of_retries_is_the_handlers(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    tries: list[int] = []

    @task_handler("default", max_retries=1, min_backoff=1, max_backoff=2)
    def handle(payload: dict[str, Any]) -> None:
        tries.append(1)
        raise ValueError

    push_task("default", {})
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert len(tries) == 2


def test_what_nobody_handles_waits_and_is_explained(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    assert push_task("orphans", {}, execution_id="orphan")
    explained = queue.explain("orphan")
    assert explained.state == State.PENDING
    assert "no worker has asked for lane orphans yet" in explained.reasons
    assert "orphans" in [each.lane for each in queue.overview.lanes()]


def test_a_worker_that_only_pushes_takes_no_task_and_one_whose_queue_has_no_handler_says_so(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    pushed = threading.Event()

    @dramatiq.actor(band="HIGH", queue_name="pushers")
    def pushes() -> None:
        push_task("elsewhere", {}, execution_id="kept")
        push_task("pushers", {}, execution_id="unhandled")
        pushed.set()

    pushes.send()
    with running(broker):
        assert pushed.wait(GENEROUS_SECONDS)
        broker.join("pushers", timeout=GENEROUS_MS)
    assert queue.views.meta("kept")["state"] == State.PENDING
    assert queue.views.dead() == ["unhandled"]
    assert queue.views.meta("unhandled")["reason"] == "actor_unknown"


def test_a_queue_has_one_handler(broker: BandedRedisBroker) -> None:
    @task_handler("default")
    def first(payload: dict[str, Any]) -> None: ...

    with pytest.raises(InvalidRequest, match="'default' has a handler already"):

        @task_handler("default")
        def second(payload: dict[str, Any]) -> None: ...


def test_a_queue_that_cannot_be_is_refused_when_its_handler_is_declared(
    broker: BandedRedisBroker, subtests: pytest.Subtests
) -> None:
    for name in cast("list[Any]", ["", "two words", "a:b", "x" * 300, 7]):
        with subtests.test(name=name):
            with pytest.raises(InvalidRequest, match="no queue's name"):
                task_handler(name)
            assert not [each for each in broker.actors if each.startswith("task.")]


def nothing() -> None: ...
def two(one: object, another: object) -> None: ...
def named(*, payload: object) -> None: ...
def more(payload: object, more: int = 1) -> None: ...
def any_number(*payloads: object) -> None: ...


def test_a_handler_that_cannot_take_a_payload_is_refused_when_it_is_declared(
    broker: BandedRedisBroker, subtests: pytest.Subtests
) -> None:
    for handler in cast("list[Any]", [nothing, two, named]):
        with subtests.test(handler=handler):
            with pytest.raises(
                InvalidRequest, match="cannot be called with a payload; allowed: one argument, as in handle"
            ):
                task_handler("never")(handler)
            assert "task.never" not in broker.actors


def test_a_handler_may_have_other_arguments_with_defaults(broker: BandedRedisBroker) -> None:
    for handler in (more, any_number):
        task_handler(f"takes-{handler.__name__}")(handler)


def test_a_broker_without_bands_is_refused(redis_client: redis.Redis) -> None:
    for each in (RedisBroker(client=redis_client), StubBroker()):
        with pytest.raises(InvalidRequest, match="does not know the tasks of default"):
            push_task("default", {}, broker=each)
    assert redis_client.keys("*") == []


def test_tasks_run_in_memory_in_an_applications_tests(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    got: list[int] = []

    @task_handler("default")
    def handle(payload: dict[str, Any]) -> None:
        got.append(payload["task_id"])

    with in_memory() as stub, working(stub):
        assert push_task("default", {"task_id": 1})
        wait_until(lambda: got == [1], what="the task")
    assert redis_client.keys("*") == []
