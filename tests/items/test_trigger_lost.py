"""Items of executions that Redis has lost: they wait for a rebuild, and no item is worked on by two executions."""

import pytest
import redis
from sqlalchemy import delete, update
from trigger_work import Work

from bandmaster.items.lost import LOST, LOST_AFTER_MS
from bandmaster.ledger.rebuild.rebuilding import Rebuilt, rebuild
from bandmaster.ledger.schema.tables import journals, payloads
from bandmaster.ledger.unrestored import TOLD_MS
from bandmaster.scheduler.engine.restoring import Restoring
from bandmaster.scheduler.model.states import State

TIMEOUT_SECONDS = 300


def look(work: Work) -> None:
    """As a leader does, some rounds long."""
    for _ in range(2):
        work.another_round(work.items.store).round()


def lose_all(work: Work, redis_client: redis.Redis, *, later_ms: int = 2 * TIMEOUT_SECONDS * 1000) -> None:
    """Redis has lost its data, the ledger has noticed, and some time has passed since."""
    redis_client.flushdb()
    assert work.consumer.step() == 0
    work.catch_up()
    pass_by(work, later_ms)


def pass_by(work: Work, ms: int) -> None:
    """Let time have passed since firings were sent, and since their executions were lost and the journal began."""
    long_ago_ms = work.now_ms() - ms
    work.set_firings(sent_ms=long_ago_ms)
    with work.database.writing() as connection:
        connection.execute(update(journals).values(begun_ms=long_ago_ms))
    work.set_executions(lost_ms=long_ago_ms)


def build_again(work: Work) -> Rebuilt:
    rebuilt = rebuild(work.queue, work.database, merge=True)
    work.catch_up()
    return rebuilt


def items_run(work: Work) -> list[str]:
    """Take all that waits in Redis, and end it; the items that were worked on."""
    found = list[str]()
    while (granted := work.queue.try_schedule()) is not None:
        found += granted[1].metadata.queue_item_ids or ()
        work.queue.transitions.release(granted[0], 1, State.COMPLETED)
    work.catch_up()
    return found


def forget_payloads(work: Work) -> None:
    with work.database.writing() as connection:
        connection.execute(delete(payloads))


def test_items_wait_until_a_rebuild_has_restored_their_execution(work: Work, redis_client: redis.Redis) -> None:
    work.trigger()
    (item_id,) = work.add()
    work.rounds.round()
    work.catch_up()
    lose_all(work, redis_client)
    look(work)
    assert (work.statuses(), len(work.firings())) == (["IN_PROGRESS"], 1)
    assert build_again(work).not_restored == {}
    look(work)
    assert items_run(work) == [item_id]
    look(work)
    assert work.statuses() == ["DONE"]
    assert items_run(work) == []


def test_items_of_what_runs_are_not_handed_to_another(work: Work, redis_client: redis.Redis) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    granted = work.queue.try_schedule()
    assert granted is not None
    work.catch_up()
    lose_all(work, redis_client)
    look(work)
    assert work.queue.try_schedule() is None
    build_again(work)
    look(work)
    assert work.queue.try_schedule() is None
    work.queue.transitions.release(granted[0], 1, State.COMPLETED)
    work.catch_up()
    assert work.statuses() == ["DONE"]


def test_what_a_rebuild_did_not_restore_goes_back_after_it(work: Work, redis_client: redis.Redis) -> None:
    work.trigger()
    (item_id,) = work.add()
    work.rounds.round()
    work.catch_up()
    lose_all(work, redis_client)
    forget_payloads(work)
    work.queue.controls.set_limit("action:other", 3, by="ada")
    assert len(build_again(work).not_restored) == 1
    look(work)
    assert [each.state for each in work.firings()].count(LOST) == 1
    assert items_run(work) == [item_id]
    assert work.statuses() == ["DONE"]


def test_nothing_goes_back_while_everything_is_paused_as_by_a_rebuild_that_goes_on(
    work: Work, redis_client: redis.Redis
) -> None:
    """It pauses everything first, and the ledger may read that before anything is restored."""
    work.trigger()
    work.add()
    work.rounds.round()
    work.catch_up()
    lose_all(work, redis_client)
    work.queue.controls.pause(by="bandmaster ledger rebuild")
    work.catch_up()
    look(work)
    assert work.statuses() == ["IN_PROGRESS"]
    work.queue.controls.resume(by="ada")
    work.catch_up()
    work.another_round(work.items.store).round()
    assert work.statuses() == ["IN_PROGRESS"], "it died: somebody may run it again"
    work.queue.controls.pause(by="ada")
    Restoring(work.queue.scripts).end("bandmaster ledger rebuild")
    work.catch_up()
    work.another_round(work.items.store).round()
    assert work.statuses() == ["IN_PROGRESS"], "another one may begin"
    work.queue.controls.resume(by="ada")
    work.catch_up()
    work.another_round(work.items.store).round()
    assert work.statuses() == ["NEW"]


def test_whose_items_went_back_after_some_days_is_not_restored(work: Work, redis_client: redis.Redis) -> None:
    work.trigger()
    (item_id,) = work.add()
    work.rounds.round()
    work.catch_up()
    lose_all(work, redis_client, later_ms=TOLD_MS)
    look(work)
    lost, again = work.firings()
    assert (lost.state, again.state) == (LOST, None)
    not_restored = build_again(work).not_restored
    assert list(not_restored) == [lost.execution_id]
    assert not_restored[lost.execution_id].endswith("its items were given back meanwhile")
    assert items_run(work) == [item_id]


@pytest.mark.parametrize("is_over", [False, True])
def test_what_is_not_restored_may_run_on_until_its_timeout(
    work: Work, redis_client: redis.Redis, is_over: bool
) -> None:
    """A pod goes on whatever Redis knows."""
    work.trigger(timeout_seconds=TIMEOUT_SECONDS)
    work.add()
    work.rounds.round()
    work.catch_up()
    so_long_ms = TIMEOUT_SECONDS * 1000 + LOST_AFTER_MS
    lose_all(work, redis_client, later_ms=so_long_ms + (1_000 if is_over else -10_000))
    forget_payloads(work)
    build_again(work)
    work.another_round(work.items.store).round()
    assert work.statuses() == ["NEW" if is_over else "IN_PROGRESS"]
