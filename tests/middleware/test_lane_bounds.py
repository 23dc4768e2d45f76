"""An application's lanes have the bounds that it declares, from its first message on, and no others."""

from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq.results import ResultFailure, Results
from dramatiq.results.backends import RedisBackend
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.model.errors import InvalidRequest, QueueFull, UserLimitExceeded
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until


def made(redis_url: str, **options: Any) -> BandedRedisBroker:
    """An application's broker."""
    return BandedRedisBroker(client=client_of(redis_url), **options)


def declared(broker: BandedRedisBroker, queue_name: str) -> "dramatiq.Actor[[], None]":
    """An actor on a lane."""

    @dramatiq.actor(broker=broker, actor_name=f"of-{queue_name}", queue_name=queue_name, band="HIGH")
    def work() -> None: ...

    return work


def bounds(queue: ExecutionQueueService, lane: str) -> dict[str, float | None]:
    """Those that are set."""
    settings = queue.on(lane).views.status().settings
    names = (
        *("max_concurrent_executions", "max_executions_per_user", "max_queue_size"),
        *("stale_timeout_seconds", "ageing_seconds"),
    )
    return {name: settings[name] for name in names if settings[name] is not None}


def test_bounds_of_one_lane_and_of_every_lane_hold_from_the_first_message_on(
    redis_url: str, queue: ExecutionQueueService
) -> None:
    broker = made(redis_url, lanes={"mail": {"max_queue_size": 1}}, max_queue_size=3, max_executions_per_user=1)
    mail, report = declared(broker, "mail"), declared(broker, "reports")
    mail.send()
    with pytest.raises(QueueFull, match=r"Queue full \(max length: 1\)"):
        mail.send()
    results = broker.send_many([report.message_with_options(user_id="ann") for _ in range(2)])
    assert isinstance(results[1], UserLimitExceeded)
    assert bounds(queue, "mail") == {"max_queue_size": 1, "max_executions_per_user": 1}
    assert bounds(queue, "reports") == {"max_queue_size": 3, "max_executions_per_user": 1}
    broker.close()


def test_lane_executions_keeps_its_own_unless_it_is_named(redis_url: str, queue: ExecutionQueueService) -> None:
    given = bounds(queue, "executions")
    broker = made(redis_url, max_queue_size=3)
    declared(broker, "executions").send()
    assert bounds(queue, "executions") == given
    broker.close()
    broker = made(redis_url, lanes={"executions": {"max_queue_size": 7}})
    declared(broker, "executions").send()
    assert bounds(queue, "executions") == given | {"max_queue_size": 7}
    broker.close()


def test_what_an_operator_has_set_stays(redis_url: str, queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_queue_size", 100, lane="mail")
    broker = made(redis_url, lanes={"mail": {"max_queue_size": 1}})
    work = declared(broker, "mail")
    work.send()
    work.send()
    assert bounds(queue, "mail") == {"max_queue_size": 100}
    broker.close()


def test_a_server_that_came_back_without_them_gets_them_anew(
    redis_url: str, queue: ExecutionQueueService, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.middleware.worker.lane_bounds.AGAIN_SECONDS", 0.5)
    broker = made(redis_url, lanes={"mail": {"max_queue_size": 7}})
    declared(broker, "mail")
    with running(broker, threads=1):
        wait_until(lambda: bounds(queue, "mail") == {"max_queue_size": 7}, what="its bounds, at boot")
        redis_client.flushdb()
        wait_until(lambda: bounds(queue, "mail") == {"max_queue_size": 7}, what="its bounds, once more")
    broker.close()


def test_the_library_says_that_another_bound_is_in_force_and_prints_nothing(
    redis_url: str, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    queue.on("mail").controls.change_setting("max_queue_size", 5)
    caplog.set_level("INFO", "bandmaster")
    broker = made(redis_url, lanes={"mail": {"max_queue_size": 7}})
    declared(broker, "mail").send()
    assert "lane_bound_differs" in caplog.text
    assert capfd.readouterr().out == ""
    broker.close()


def test_a_worker_puts_them_down_when_it_boots(redis_url: str, queue: ExecutionQueueService) -> None:
    given = {"stale_timeout_seconds": 60, "ageing_seconds": 30}
    broker = made(redis_url, stale_timeout_seconds=60, ageing_seconds=30)
    declared(broker, "mail")
    with running(broker, threads=1):
        wait_until(lambda: bounds(queue, "mail") == given, what="the bounds")
    broker.close()


NO_BOUNDS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"lanes": {"no lane": {}}}, "'no lane' is not a lane's name"),
    ({"lanes": {"no lane": {"fair_by": "no kind"}}}, "'no lane' is not a lane's name"),
    (
        {"lanes": {"mail": {"max_size": 3}}},
        "'max_size' is not a bound of a lane; allowed: ageing_seconds, fair_by, max_concurrent_exec",
    ),
    (
        {"lanes": {"mail": {"fairby": "user"}}},
        r"lanes: 'fairby' is not a bound of a lane; allowed: ageing_seconds, fair_by, .*; did you mean fair_by\?",
    ),
    ({"lanes": {"mail": {5: 1}}}, "5 is not a bound of a lane; allowed: ageing_seconds, fair_by, "),
    ({"lanes": ["mail"]}, 'lanes: a value of type list is no mapping; allowed: a dict like {"emails": '),
    ({"lanes": {"mail": {"max_queue_size": -1}}}, "max_queue_size: -1 is not a setting's value"),
    ({"lanes": {"mail": {"max_queue_size": None}}}, "max_queue_size of mail: None is no bound"),
    ({"lanes": {"mail": 5}}, "5 of mail is no mapping"),
    ({"max_queue_size": "many"}, "max_queue_size: 'many' is not a setting's value"),
)


def test_what_is_no_bound_is_refused_before_anything_is_sent(
    redis_url: str, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    for options, problem in NO_BOUNDS:
        with subtests.test(options=options, problem=problem):
            with pytest.raises(InvalidRequest, match=problem):
                made(redis_url, **options)
            assert redis_client.dbsize() == 0


def test_the_sender_of_a_message_that_is_too_old_is_told_so_as_by_dramatiq(
    broker: BandedRedisBroker, redis_url: str
) -> None:
    backend = RedisBackend(client=client_of(redis_url))
    broker.add_middleware(Results(backend=backend))

    @dramatiq.actor(band="HIGH", max_age=1, store_results=True)
    def work() -> None: ...

    message = work.send_with_options(delay=20)
    with running(broker, threads=1), pytest.raises(ResultFailure, match="SkipMessage: Message age limit exceeded"):
        backend.get_result(message, block=True, timeout=GENEROUS_MS)


def test_a_message_that_waited_longer_than_its_max_age_expires(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH", max_age=50)
    def work(name: str) -> None:
        ran.append(name)

    queue.controls.pause("lane:default")
    old = work.send("old")
    young = work.send_with_options(args=("young",), max_age=600_000)
    with running(broker, threads=1):
        wait_until(lambda: queue.views.meta(old.message_id)["state"] == State.EXPIRED, what="its expiry")
        assert queue.journal.of(old.message_id)[-1].fields["reason"] == "max_age"
        queue.controls.resume("lane:default")
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == ["young"]
    assert queue.views.meta(young.message_id)["state"] == State.COMPLETED


def test_what_is_no_age_is_refused(
    broker: BandedRedisBroker, queue: ExecutionQueueService, subtests: pytest.Subtests
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    for max_age in ("soon", -1, True):
        with subtests.test(max_age=max_age):
            with pytest.raises(InvalidRequest, match=r"max_age: .* is no age; allowed: milliseconds, above 0"):
                work.send_with_options(max_age=max_age)
            assert queue.views.lane_size("default") == 0


def test_a_lane_is_fair_as_it_is_declared_unless_an_operator_chose(
    redis_url: str, queue: ExecutionQueueService
) -> None:
    queue.shares.share("strict", None)
    broker = made(redis_url, lanes={lane: {"fair_by": "user", "max_queue_size": 9} for lane in ("mail", "strict")})
    for lane in ("mail", "strict", "other"):
        declared(broker, lane).send()
    assert queue.shares.fair() == {"mail": "user"}
    assert bounds(queue, "mail") == {"max_queue_size": 9}
    changes = [entry for entry in queue.journal.entries() if entry.fields.get("name") == "lane:mail:fair_by"]
    assert changes == [], "an application is no operator"
    queue.shares.share("mail", None)
    broker.bounds.put_down_again(["mail"])
    assert queue.shares.fair() == {}
    broker.close()


def test_a_lane_is_fair_by_a_kind_of_gates(redis_url: str, subtests: pytest.Subtests) -> None:
    for kind in cast("list[Any]", ["user:ann", "", 7, None]):
        with subtests.test(kind=kind), pytest.raises(InvalidRequest, match="no kind of gates"):
            made(redis_url, lanes={"mail": {"fair_by": kind}})
