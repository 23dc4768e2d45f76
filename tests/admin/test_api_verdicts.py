"""The API says what is to be looked at, to whom, and never waits for the ledger with it."""

from pathlib import Path

import redis
from calling import V1, Api
from sqlalchemy import update

from bandmaster.admin.ledger_watch import USABLE_SECONDS, LedgerWatch
from bandmaster.items.notifying.outbox import Event, note_failing
from bandmaster.items.store import now_of
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import notifications, triggers
from bandmaster.ledger.write_signs import WriteSigns
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.verdicts import BEHIND_ENTRIES, UNDELIVERED_SECONDS, VerdictCode
from waiting import wait_until

QUEUE = f"{V1}/executions/queue"


def fill(api: Api) -> None:
    """Two lanes of which each is more than half full."""
    for lane in ("executions", "mails"):
        api.queue.controls.change_setting("max_queue_size", 4, lane=lane)
        for number in range(3):
            api.queue.transitions.park(Candidate(f"{lane}-{number}", lane, 2, "pod", message=b"x"))


def told(api: Api, scope: str, path: str = QUEUE) -> set[tuple[str, str, str]]:
    """Code, severity and subject of each."""
    with api.client(api.token("ann", scope)) as client:
        verdicts = client.get(path).json()["verdicts"]
    return {(each["code"], each["severity"], each["subject"]) for each in verdicts}


def test_readers_are_told_of_a_lane_and_operators_of_all(api: Api) -> None:
    fill(api)
    no_leader = ("no_leader", "warning", "")
    own, other = (("queue_half_full", "warning", f"lane:{lane}") for lane in ("executions", "mails"))
    assert told(api, "read") == {own, no_leader}
    assert told(api, "read", f"{QUEUE}?lane=mails") == {other, no_leader}
    assert told(api, "operate") == told(api, "admin", f"{V1}/admin/executions/queue") == {own, other, no_leader}
    assert told(api, "operate", f"{QUEUE}?lane=mails") == {other, no_leader}
    api.queue.controls.change_setting("max_queue_size", None)
    assert own not in told(api, "read")


def test_an_action_that_its_limit_holds_back_is_told_of_in_words(api: Api, redis_client: redis.Redis) -> None:
    fill(api)
    api.queue.controls.set_limit("action:pod", 1)
    assert api.queue.transitions.admit(("executions",), 1).grants
    assert told(api, "read", f"{V1}/actions/pod/queue-stats") == set()
    now_ms = api.queue.views.server_time_ms()
    redis_client.zadd("exec_queue:action:pod:pending", {"executions-1": now_ms - 4 * 60_000})
    with api.client(api.token("ann", "read")) as client:
        (verdict,) = client.get(f"{V1}/actions/pod/queue-stats").json()["verdicts"]
    assert verdict["sentence"] == "Action pod has waited for 4 min: limit 1 reached, 5 executions wait"
    assert (verdict["code"], verdict["severity"], verdict["subject"]) == ("limit_reached", "info", "action:pod")
    api.queue.controls.set_limit("action:pod", 0)
    assert told(api, "read", f"{V1}/actions/pod/queue-stats") == {("limit_reached", "info", "action:pod")}


def test_a_new_dead_letter_is_told_of_for_an_hour(api: Api, redis_client: redis.Redis) -> None:
    now_ms = api.queue.views.server_time_ms()
    redis_client.zadd("exec_queue:dead", {"old": now_ms - 3_700_000})
    assert "dead_letters_grow" not in {code for code, _, _ in told(api, "read")}
    redis_client.zadd("exec_queue:dead", {"new": now_ms - 3_500_000})
    assert ("dead_letters_grow", "warning", "") in told(api, "read")


def test_a_ledger_that_falls_behind_is_told_of(api: Api, redis_client: redis.Redis) -> None:
    api.catch_up()
    pipeline = redis_client.pipeline(transaction=False)
    for _ in range(BEHIND_ENTRIES + 1):
        pipeline.xadd("exec_queue:journal", {"verb": "none"})
    pipeline.execute()
    wait_until(lambda: ("ledger_behind", "warning", "") in told(api, "read"), what="the verdict")


def test_a_trigger_that_cannot_fire_is_told_of_by_its_name(api: Api) -> None:
    api.catch_up()
    items = api.services.items
    items.triggers.create("book", type=TriggerType.TIME, cron="0 0 1 1 *", command=("true",), by="a test")
    with api.database.writing() as connection:
        connection.execute(update(triggers).values(failures=1, last_error="the queue is full"))
    wait_until(lambda: ("triggers_fail", "warning", "") in told(api, "read"), what="the verdict")
    items.triggers.change("book", {"enabled": False}, by="a test", revision=None)
    wait_until(lambda: "triggers_fail" not in {code for code, _, _ in told(api, "read")}, what="no verdict")


def test_what_is_not_delivered_is_told_of_by_whose_it_is_and_tests_are_not(api: Api) -> None:
    api.catch_up()
    items = api.services.items
    url = {"cron": "0 0 1 1 *", "notify_url": "https://hooks.example/T0KEN"}
    book = items.triggers.create("book", type=TriggerType.TIME, command=("true",), by="a test", **url)
    items.testing.of_trigger(book, by="a test")
    items.store.write(lambda connection: note_failing(connection, book.trigger_id, "book", "full", now_of(connection)))
    of = notifications.c

    def age(seconds: int) -> None:
        with api.database.writing() as connection:
            connection.execute(update(notifications).values(created_ms=of.created_ms - seconds * 1000))

    age(UNDELIVERED_SECONDS - 60)
    assert items.store.asking.progress().late_notifications == []
    age(120)
    (late,) = items.store.asking.progress().late_notifications
    assert (late.name, late.waiting_ms // 60_000) == ("trigger book", UNDELIVERED_SECONDS // 60 + 1)
    wait_until(lambda: ("notifications_fail", "warning", "") in told(api, "read"), what="the verdict")
    with api.database.writing() as connection:
        connection.execute(update(notifications).where(of.event == Event.TRIGGER_FAILING).values(sent_ms=1))
    wait_until(lambda: "notifications_fail" not in {code for code, _, _ in told(api, "read")}, what="no verdict")


def test_a_ledger_that_takes_no_writes_is_told_of_with_the_reason(api: Api, redis_client: redis.Redis) -> None:
    api.catch_up()
    redis_client.delete("exec_queue:ledger")  # whoever wrote has ended
    WriteSigns(api.queue.scripts).failed("one", "database or disk is full")
    redis_client.hincrby("exec_queue:ledger", "failing_ms", -5 * 60_000)
    wait_until(lambda: ("ledger_not_written", "warning", "") in told(api, "read"), what="the verdict")
    with api.client(api.token("ann", "read")) as client:
        sentences = [each["sentence"] for each in client.get(QUEUE).json()["verdicts"]]
    expected = "The ledger could not be written for 5 min: database or disk is full; work goes on, "
    assert any(each.startswith(expected) for each in sentences)


def test_a_ledger_that_cannot_be_read_is_told_of_and_one_that_nobody_keeps_is_not(
    redis_client: redis.Redis, tmp_path: Path
) -> None:
    scripts = ExecutionQueueService(redis_client).scripts

    def watch(file: Path) -> LedgerWatch:
        return LedgerWatch(Asking(Database(f"sqlite:///{file}"), queue="exec_queue"), scripts, clock=clock)

    now = 0.0

    def clock() -> float:
        return now

    (tmp_path / "damaged").write_text("this is no database, whatever its name says" * 100)
    damaged, missing = watch(tmp_path / "damaged"), watch(tmp_path / "missing")
    assert damaged.verdicts() == missing.verdicts() == [], "it is not waited for"
    (verdict,) = wait_until(damaged.verdicts, what="the verdict")
    assert verdict.code == VerdictCode.LEDGER_AWAY
    now = USABLE_SECONDS
    assert damaged.verdicts() == [], "that was too long ago"
    assert wait_until(damaged.verdicts, what="what is so now") == [verdict]
    assert missing.verdicts() == []
