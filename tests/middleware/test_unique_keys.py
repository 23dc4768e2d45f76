"""The option `unique` of actors and messages, with real brokers and workers: what is dropped, replaced, refused."""

import threading
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
from dramatiq import Broker, Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results.backends import RedisBackend
from working import plain_redis_broker, running, stub_broker

from bandmaster import (
    BandedRedisBroker,
    ExecutionCancelled,
    ExecutionQueueService,
    InvalidRequest,
    NotUnique,
    Unique,
    actor,
)
from bandmaster.testing import BandedStubBroker
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until


class Reports:
    """Notes what ran; a body waits until it may go on."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str]] = []
        self.may_end = threading.Event()

    def body(self, tenant: str, month: str = "") -> None:
        self.ran.append((tenant, month))
        self.may_end.wait(GENEROUS_SECONDS)


@pytest.fixture
def reports() -> Iterator[Reports]:
    reports = Reports()
    yield reports
    reports.may_end.set()


def declared(broker: Broker, reports: Reports, unique: "str | Unique", **options: Any) -> Any:
    declare: Any = dramatiq.actor  # its overloads know no options as a whole
    return declare(reports.body, broker=broker, actor_name="report", band="NORMAL", unique=unique, **options)


def is_dropped_for(message: "Message[Any]", first: "Message[Any]") -> bool:
    return bool(message.options.get("dropped")) and message.options["execution_id"] == first.options["execution_id"]


def test_a_second_one_is_dropped_while_the_first_waits_and_its_sender_is_told_by_the_id(
    broker: BandedRedisBroker, queue: ExecutionQueueService, reports: Reports
) -> None:
    report = declared(broker, reports, "report:{tenant}")
    first = report.send("acme", "2026-10")
    second, other = report.send("acme", "2026-11"), report.send("globex", "2026-10")
    assert is_dropped_for(second, first)
    assert "dropped" not in other.options
    assert queue.get_queue_status()["queue_depth"] == 2
    with running(broker):
        wait_until(lambda: len(reports.ran) == 2)
        third = report.send("acme", "2026-12")
        assert "dropped" not in third.options, "the first one runs"
        reports.may_end.set()
        wait_until(lambda: len(reports.ran) == 3)
    assert sorted(reports.ran) == [("acme", "2026-10"), ("acme", "2026-12"), ("globex", "2026-10")]


def test_until_ended_the_second_is_refused_while_the_first_runs(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, Unique(key="report:{tenant}", until="ended", on_conflict="refuse"))
    first = report.send("acme")
    with running(broker):
        wait_until(lambda: reports.ran)
        with pytest.raises(NotUnique, match="'report:acme'") as refused:
            report.send("acme")
        assert refused.value.other == first.options["execution_id"]
        reports.may_end.set()
        wait_until(lambda: not _is_refused(report))


def _is_refused(report: Any) -> bool:
    try:
        report.send("acme")
    except NotUnique:
        return True
    return False


def test_the_newest_of_many_delayed_ones_runs_and_the_senders_of_the_others_are_told(
    broker: BandedRedisBroker, results: RedisBackend, reports: Reports
) -> None:
    reports.may_end.set()
    unique = Unique(key="report:{tenant}", on_conflict="replace")
    report = declared(broker, reports, unique, store_results=True)
    sent = [report.send_with_options(args=("acme", f"2026-{month}"), delay=500) for month in (9, 10, 11)]
    with running(broker):
        wait_until(lambda: reports.ran)
        for replaced in sent[:2]:
            with pytest.raises(Exception, match=ExecutionCancelled.__name__):
                replaced.get_result(block=True, timeout=GENEROUS_MS)
        assert sent[2].get_result(block=True, timeout=GENEROUS_MS) is None
    assert reports.ran == [("acme", "2026-11")]


def test_for_some_seconds(broker: BandedRedisBroker, queue: ExecutionQueueService, reports: Reports) -> None:
    reports.may_end.set()
    report = declared(broker, reports, Unique(key="report:{tenant}", seconds=600))
    first = report.send("acme")
    with running(broker):
        wait_until(lambda: queue.get_queue_status() == {"queue_depth": 0, "active_count": 0})
    assert is_dropped_for(report.send("acme"), first)


def test_a_message_has_a_key_of_its_own_or_none(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, "report:{tenant}")
    first = report.send("acme", "2026-10")
    assert "dropped" not in report.send_with_options(args=("acme", "2026-10"), unique=None).options
    of_month: Unique = {"key": "report:{tenant}:{month}", "on_conflict": "refuse"}
    second = report.send_with_options(args=("acme", "2026-10"), unique=of_month)
    with pytest.raises(NotUnique, match="'report:acme:2026-10'"):
        report.send_with_options(args=("acme", "2026-10"), unique=of_month)
    assert is_dropped_for(report.send("acme"), first)
    assert second.options["execution_id"] == second.message_id


def test_an_actor_without_the_option_sends_a_message_with_it(broker: BandedRedisBroker) -> None:
    @actor(band="LOW")
    def mail() -> None: ...

    first = mail.send_with_options(unique="mail")
    assert is_dropped_for(mail.send_with_options(unique="mail"), first)


def test_what_was_dropped_may_be_sent_again_later(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, "report:{tenant}")
    first = report.send("acme")
    dropped = report.send("acme", "again")
    broker.queue.cancel(first.options["execution_id"])
    again = broker.enqueue(dropped)
    assert again.options["execution_id"] == dropped.message_id
    assert "dropped" not in again.options
    assert is_dropped_for(report.send("acme"), again)


def test_of_many_sent_together_each_is_told_of(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, "report:{tenant}")
    first, second, other = broker.send_many(report.message(tenant) for tenant in ("acme", "acme", "globex"))
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert isinstance(other, Message)
    assert is_dropped_for(second, first)
    assert "dropped" not in other.options
    refused = Unique(key="report:{tenant}", on_conflict="refuse")
    (outcome,) = broker.send_many([report.message_with_options(args=("acme",), unique=refused)])
    assert isinstance(outcome, NotUnique)


def test_a_group_which_waits_for_all_of_its_messages_refuses(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, "report:{tenant}")
    with pytest.raises(NotUnique):
        dramatiq.group([report.message("acme"), report.message("acme")]).run()


def test_a_step_of_a_pipeline_that_is_dropped_leaves_no_dead_letter(
    broker: BandedRedisBroker, queue: ExecutionQueueService, reports: Reports
) -> None:
    report = declared(broker, reports, "report:{tenant}")

    @actor(band="LOW", queue_name="before")
    def before() -> str:
        return "acme"

    refused = Unique(key="report:{tenant}", on_conflict="refuse")
    report.send("acme", "2026-10")
    with running(broker, queues={"before"}):
        (before.message() | report.message()).run()
        (before.message() | report.message_with_options(unique=refused)).run()
        wait_until(lambda: broker.plain_client.zcard(queue.scripts.keys.named("dead")) == 1, what="what was refused")
    assert queue.get_queue_status()["queue_depth"] == 1


@pytest.mark.parametrize("kind", ["redis", "stub"])
def test_on_another_broker_what_is_dropped_does_not_run(redis_url: str, kind: str, reports: Reports) -> None:
    broker: Broker = plain_redis_broker(redis_url) if kind == "redis" else stub_broker(redis_url)
    broker.emit_after("process_boot")
    reports.may_end.set()
    report = declared(broker, reports, "report:{tenant}")
    report.send("acme", "2026-10")
    assert report.send("acme", "2026-11").options["dropped"]
    report.send("globex", "2026-10")
    with running(broker):
        wait_until(lambda: len(reports.ran) == 2)
        broker.join("default")
    assert sorted(reports.ran) == [("acme", "2026-10"), ("globex", "2026-10")]
    broker.close()


def test_a_plain_producers_message_is_dropped_from_its_list(
    broker: BandedRedisBroker, queue: ExecutionQueueService, reports: Reports
) -> None:
    report = declared(broker, reports, "report:{tenant}")
    refused = Unique(key="report:{tenant}", on_conflict="refuse")
    report.send("acme", "2026-10")
    plain = RedisBroker(client=broker.plain_client)
    plain.declare_queue("default")
    queue.controls.pause("lane:default")
    plain.enqueue(report.message("acme", "2026-11"))
    plain.enqueue(report.message_with_options(args=("acme", "2026-12"), unique=refused))
    with running(broker):
        wait_until(lambda: broker.plain_client.zcard(queue.scripts.keys.named("dead")) == 1, what="what was refused")
        wait_until(lambda: broker.plain_client.llen("dramatiq:default") == 0, what="an empty list")
    assert queue.get_queue_status()["queue_depth"] == 1


WRONG: tuple[tuple[Any, str], ...] = (
    (7, "unique: 7 is no key"),
    ({"until": "ended"}, "unique: None is no key"),
    ({"key": "k", "till": "ended"}, "'till' is no part of it; allowed: key, until"),
    ({"key": "k", "until": "done"}, "until is 'done'; allowed: started, ended"),
    ({"key": "k", "seconds": 0}, "seconds is 0; allowed: 0.001 to"),
    ({"key": "k", "seconds": True}, "seconds is True"),
    ({"key": "k", "seconds": 1, "until": "ended"}, "both until and seconds are given"),
    ({"key": "k", "on_conflict": "ignore"}, "on_conflict is 'ignore'; allowed: drop, replace, refuse"),
    ({"key": "k", "on_conflict": []}, "on_conflict is a value of type list"),
    ("a\nb", "unique: .* is not a gate's key"),
    ("report:{customer}", "unique: .* names 'customer', which is no argument of actor report"),
)


def test_a_wrong_option_stops_the_declaration_and_a_message(
    broker: BandedRedisBroker, reports: Reports, subtests: pytest.Subtests
) -> None:
    for unique, said in WRONG:
        with subtests.test(said):
            broker.actors.clear()
            with pytest.raises(InvalidRequest, match=said):
                declared(broker, reports, unique)
            broker.actors.clear()
            report = declared(broker, reports, "report:{tenant}")
            with pytest.raises(InvalidRequest, match="unique: "):
                report.send_with_options(args=("acme",), unique=unique)


def test_a_key_of_what_cannot_be_part_of_one_is_refused(broker: BandedRedisBroker, reports: Reports) -> None:
    report = declared(broker, reports, "report:{tenant}")
    with pytest.raises(InvalidRequest, match=r"unique: 'report:\{tenant\}' needs argument tenant, which is None"):
        report.send(None)


def test_an_actor_that_is_not_gated_cannot_have_it(broker: BandedRedisBroker) -> None:
    with pytest.raises(InvalidRequest, match="unique: actor mail is not gated"):

        @actor(unique="mail")
        def mail() -> None: ...


def test_the_broker_for_tests_does_the_same(reports: Reports) -> None:
    broker = BandedStubBroker()
    broker.emit_after("process_boot")
    report = declared(broker, reports, "report:{tenant}")
    first = report.send("acme", "2026-10")
    assert is_dropped_for(report.send("acme", "2026-11"), first)
    with pytest.raises(NotUnique, match="'report:acme'"):
        report.send_with_options(args=("acme",), unique=Unique(key="report:{tenant}", on_conflict="refuse"))
    newest = report.send_with_options(args=("acme", "2026-12"), unique={"key": "report:acme", "on_conflict": "replace"})
    assert [message.message_id for message in broker.waiting("default")] == [newest.message_id]
    until_ended: Unique = {"key": "of:{tenant}", "until": "ended"}
    with running(broker):
        report.send_with_options(args=("acme", "slow"), unique=until_ended)
        wait_until(lambda: len(reports.ran) == 2)
        assert report.send_with_options(args=("acme",), unique=until_ended).options["dropped"]
        assert "dropped" not in report.send("acme", "next").options
        reports.may_end.set()
        broker.join("default")
    assert [month for _, month in reports.ran] == ["2026-12", "slow", "next"]
    for_seconds: Unique = {"key": "of:{tenant}", "seconds": 600}
    report.send_with_options(args=("acme",), unique=for_seconds)
    with running(broker):
        broker.join("default")
    assert report.send_with_options(args=("acme",), unique=for_seconds).options["dropped"]
