"""Limits that actors declare hold again after the server has lost them, and later declarations of others stay."""

from pathlib import Path

import dramatiq
import pytest
import redis
from counting import calls
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.intake import declaration
from waiting import wait_until

DOCS = Path(__file__).resolve().parents[2] / "docs"
LOOKS_SECONDS = declaration.LOOK_SECONDS


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "LOOK_SECONDS", 0.2)


@pytest.mark.parametrize("lost", ["all", "restored"])
def test_limits_that_the_server_lost_are_declared_again(
    lost: str, broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(band="LOW", gates=["tenant:{name}"], limits={"tenant:*": 1})
    def work(name: str) -> None: ...

    with running(broker, threads=2):
        wait_until(lambda: queue.controls.last_declaration() > 0, what="its declaration")
        if lost == "all":
            redis_client.flushall()
        else:  # as of before the worker's boot
            redis_client.delete("exec_queue:limits:defaults")
            redis_client.hset("exec_queue:rounds", "declared", "0")
        wait_until(lambda: redis_client.exists("exec_queue:limits:defaults"), what="its declaration, again")


@pytest.mark.parametrize("page", ["guarantees.md", "messages.md"])
def test_the_documents_say_for_how_long_work_starts_without_them(page: str) -> None:
    assert LOOKS_SECONDS == 2.0
    assert "within about two seconds" in " ".join((DOCS / page).read_text().split())


def test_what_another_worker_declared_later_stays(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(band="LOW", gates=["tenant:{name}"], limits={"tenant:*": 1})
    def work(name: str) -> None: ...

    with running(broker, threads=2):
        wait_until(lambda: queue.controls.last_declaration() > 0, what="its declaration")
        later = {"default": {"tenant:*": 7}}
        number = queue.controls.declare_limits(later)
        looked = calls(redis_client, "hget")
        wait_until(lambda: calls(redis_client, "hget") > looked + 3, what="some looks")
        assert queue.controls.last_declaration() == number
