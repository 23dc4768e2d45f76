"""Firings of whose executions the ledger has no end: what Redis says of them counts, and nothing goes back too soon."""

from typing import Any

import pytest
from sqlalchemy import delete
from trigger_work import Work

from bandmaster.items import lost
from bandmaster.items.bounds import TIMEOUT_SECONDS
from bandmaster.items.lost import LOST, LOST_AFTER_MS, Asked, look_for_lost
from bandmaster.ledger.schema.tables import executions, payloads

MINUTE_MS = 60_000


def fired(work: Work, count: int = 1, **fields: Any) -> list[str]:
    """Let a trigger start executions, an item each, and the ledger read of them; their ids."""
    work.trigger(batch_size=1, max_jobs=100, **fields)
    work.add(count)
    for _ in range(count):
        work.rounds.round()
    work.catch_up()
    return [each.execution_id for each in work.firings()]


def sent_ago(work: Work, ms: int) -> None:
    work.set_firings(sent_ms=work.now_ms() - ms)


def look(work: Work, *, has_read_all: bool = True) -> int:
    """What was settled."""

    def known(execution_ids: list[str]) -> dict[str, str]:
        metas = zip(execution_ids, work.queue.views.metas(execution_ids), strict=True)
        return {one: meta["state"] for one, meta in metas if "state" in meta}

    return look_for_lost(work.items.store, Asked(lambda: False, known, lambda: has_read_all))


def forget_in_redis(work: Work, execution_id: str) -> None:
    client = work.queue.scripts.client
    for key in client.keys(f"*{execution_id}*"):  # type: ignore[union-attr]
        client.delete(key)


def drop_unread(work: Work) -> None:
    """Redis drops what it has told, and the ledger takes over what is left."""
    work.queue.scripts.client.xtrim("exec_queue:journal", maxlen=0, approximate=False)
    work.catch_up()


def forget_in_ledger(work: Work) -> None:
    with work.database.writing() as connection:
        connection.execute(delete(executions))


def test_an_end_that_only_redis_knows_settles_the_item(work: Work) -> None:
    fired(work)
    forget_in_ledger(work)
    work.run_all()
    drop_unread(work)
    sent_ago(work, LOST_AFTER_MS + 1_000)
    assert work.statuses() == ["IN_PROGRESS"]
    assert look(work) == 1
    assert work.statuses() == ["DONE"]


def test_what_lives_in_redis_or_in_the_ledger_is_not_lost(work: Work) -> None:
    first, second = fired(work, 2)
    sent_ago(work, 1_000 * TIMEOUT_SECONDS + 10 * MINUTE_MS)
    forget_in_redis(work, first)
    assert look(work) == 0
    forget_in_ledger(work)
    assert look(work) == 1
    assert {each.execution_id: each.state for each in work.firings()} == {first: LOST, second: None}


def test_an_end_that_the_ledger_has_not_read_yet_is_waited_for(work: Work) -> None:
    (execution_id,) = fired(work)
    forget_in_ledger(work)
    sent_ago(work, 1_000 * TIMEOUT_SECONDS + 10 * MINUTE_MS)
    work.run_all()
    forget_in_redis(work, execution_id)
    assert look(work, has_read_all=False) == 0
    work.catch_up()
    assert work.statuses() == ["DONE"]


def test_whose_end_was_dropped_unread_has_ended_and_goes_back_at_once(work: Work) -> None:
    (execution_id,) = fired(work)
    work.run_all()
    forget_in_redis(work, execution_id)
    drop_unread(work)
    sent_ago(work, LOST_AFTER_MS + 1_000)
    assert look(work) == 1
    assert work.statuses() == ["NEW"]


def test_the_time_to_wait_begins_when_it_was_sent_or_lost_whichever_is_later(work: Work) -> None:
    (execution_id,) = fired(work, timeout_seconds=60)
    forget_in_redis(work, execution_id)
    sent_ago(work, 10 * MINUTE_MS)
    work.set_executions(lost_ms=work.now_ms() - MINUTE_MS)
    assert look(work) == 0
    forget_in_ledger(work)
    sent_ago(work, LOST_AFTER_MS + 10_000)
    assert look(work) == 0
    sent_ago(work, LOST_AFTER_MS + 61_000)
    assert look(work) == 1


@pytest.mark.parametrize("knows_payload", [True, False])
def test_the_timeout_is_that_of_the_execution_or_of_its_trigger(work: Work, knows_payload: bool) -> None:
    (execution_id,) = fired(work, timeout_seconds=60)
    changed = {"timeout_seconds": 4 * TIMEOUT_SECONDS}
    work.items.triggers.change("book", changed, by="a test", revision=None)
    forget_in_redis(work, execution_id)
    forget_in_ledger(work)
    if not knows_payload:
        with work.database.writing() as connection:
            connection.execute(delete(payloads))
    sent_ago(work, 3_000 * TIMEOUT_SECONDS)
    assert look(work) == int(knows_payload)


def test_all_pages_are_looked_through_and_what_has_ended_or_was_not_sent_is_not(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "SENT_A_PAGE", 1)
    ids = fired(work, 3)
    for each in ids:
        forget_in_redis(work, each)
    forget_in_ledger(work)
    work.set_firings(sent_ms=None)
    assert look(work) == 0
    sent_ago(work, LOST_AFTER_MS + 1_000)
    assert look(work) == 0
    sent_ago(work, 1_000 * TIMEOUT_SECONDS + 10 * MINUTE_MS)
    assert look(work) == 3
    assert work.statuses() == ["NEW"] * 3
    assert look(work) == 0
