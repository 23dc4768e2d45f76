"""What is asked in the background is asked one at a time, and again after an error that nobody thought of."""

import socket
import threading
from pathlib import Path

import pytest
import redis
from calling import Api
from logged import context_of, events

from bandmaster.admin.in_background import InBackground
from bandmaster.admin.ledger_watch import FRESH_SECONDS, LedgerWatch
from bandmaster.admin.rates import FRESH_SECONDS as RATES_FRESH_SECONDS
from bandmaster.admin.rates import Rates
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.verdicts import VerdictCode
from waiting import GENEROUS_SECONDS, wait_until


class Unexpected(Exception):
    """What nobody thought of."""


def fail() -> None:
    raise Unexpected


def test_one_thing_runs_at_a_time() -> None:
    background, go_on, done = InBackground("work"), threading.Event(), list[str]()

    def work() -> None:
        assert go_on.wait(GENEROUS_SECONDS)
        done.append("first")

    assert background.begin(work)
    assert not background.begin(lambda: done.append("second"))
    go_on.set()
    wait_until(lambda: background.begin(lambda: done.append("third")), what="its turn")
    wait_until(lambda: len(done) == 2, what="the end")
    assert done == ["first", "third"]


def test_after_an_error_that_is_logged_the_next_may_begin(caplog: pytest.LogCaptureFixture) -> None:
    background, done = InBackground("work"), threading.Event()
    assert background.begin(fail)
    wait_until(lambda: background.begin(done.set), what="its turn")
    assert done.wait(GENEROUS_SECONDS)
    assert events(caplog) == ["background_failed"]
    assert context_of(caplog, "background_failed")["work"] == "work"


def test_the_ledger_is_watched_again_after_an_unexpected_error(
    redis_client: redis.Redis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now, fails = 0.0, True

    def clock() -> float:
        if fails and threading.current_thread() is not threading.main_thread():
            raise Unexpected
        return now

    file = tmp_path / "damaged"
    file.write_text("this is no database, whatever its name says" * 100)
    scripts = ExecutionQueueService(redis_client).scripts
    watch = LedgerWatch(Asking(Database(f"sqlite:///{file}"), queue="exec_queue"), scripts, clock=clock)
    assert watch.verdicts() == []
    wait_until(lambda: "background_failed" in events(caplog), what="the error")
    fails, now = False, FRESH_SECONDS
    (verdict,) = wait_until(watch.verdicts, what="the verdict")
    assert verdict.code == VerdictCode.LEDGER_AWAY


def test_rates_are_asked_again_after_an_unexpected_error(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        api.queue.enqueue({"execution_id": f"r-{number}", "command": ["true"], "action": "resize"})
        granted = api.queue.try_schedule()
        assert granted is not None
        api.queue.release(granted[0])
    api.catch_up()
    now, fails = 0.0, True

    def now_ms() -> int:
        if fails:
            raise Unexpected
        return api.queue.views.server_time_ms()

    rates = Rates(api.services.ledger, now_ms, clock=lambda: now)
    assert rates.per_second("resize") is None
    wait_until(lambda: "background_failed" in events(caplog), what="the error")
    fails, now = False, RATES_FRESH_SECONDS
    assert wait_until(lambda: rates.per_second("resize"), what="the rate")


def test_a_ledger_that_hangs_is_told_of_and_holds_up_one_thread(redis_client: redis.Redis) -> None:
    now = 0.0
    scripts = ExecutionQueueService(redis_client).scripts
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = Database(f"postgresql+psycopg://nobody@127.0.0.1:{silent.getsockname()[1]}/none")
        watch = LedgerWatch(Asking(database, queue="exec_queue"), scripts, clock=lambda: now)
        assert watch.verdicts() == []
        for _ in range(5):
            now += FRESH_SECONDS
            (verdict,) = watch.verdicts()
            assert verdict.code == VerdictCode.LEDGER_AWAY
        hanging = [each.name for each in threading.enumerate() if each.name.startswith("ledger-")]
        assert hanging == ["ledger-watch"]
    database.close()
