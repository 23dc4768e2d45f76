"""How the items of executions that triggers started are settled."""

from trigger_work import Work
from work_items import end_postponing, make, take

from bandmaster.items.bounds import TIMEOUT_SECONDS
from bandmaster.items.lost import LOST, LOST_AFTER_MS
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.scheduler.model.states import State


def test_failed_executions_use_up_the_retries_of_items(work: Work) -> None:
    make(work.items, max_retries=1)
    work.trigger()
    work.add()
    for expected in ("NEW", "FAILED"):
        work.set_trigger(next_fire_ms=1)
        work.rounds.round()
        assert len(work.run_all(State.FAILED)) == 1
        work.catch_up()
        assert work.statuses() == [expected]
    (row,) = work.item_rows()
    assert (row.retries, row.failure) == (1, "application")
    assert row.error_message.startswith("its execution ended as FAILED")


def test_a_failed_item_is_put_off_as_its_queue_says(work: Work) -> None:
    make(work.items, retry_seconds=60)
    work.trigger()
    work.add()
    work.rounds.round()
    work.run_all(State.FAILED)
    work.catch_up()
    (row,) = work.item_rows()
    assert (row.status, row.job_id) == ("POSTPONED", None)
    end_postponing(work.database, row.item_id)
    work.set_trigger(next_fire_ms=1)
    assert work.rounds.round() == 1


def test_a_cancelled_execution_gives_its_items_back(work: Work) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    (firing,) = work.firings()
    work.queue.transitions.cancel(firing.execution_id)
    work.catch_up()
    (row,) = work.item_rows()
    assert (row.status, row.job_id, row.retries, row.abandoned) == ("NEW", None, 0, 0)
    (held,) = take(work.items)
    assert held.locked_until_ms is not None


def test_what_a_program_said_of_an_item_stays(work: Work) -> None:
    work.trigger(batch_size=2)
    first, _ = work.add(2)
    work.rounds.round()
    (firing,) = work.firings()
    said = Said(Status.FAILED, error_message="a business matter")
    work.items.outcome.say(first, said, robot_id=firing.execution_id, fence=1)
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["FAILED", "DONE"]


def test_an_item_that_an_operator_took_away_is_not_settled(work: Work) -> None:
    work.trigger(enabled=True)
    (item_id,) = work.add()
    work.rounds.round()
    work.items.editing.edit(item_id, {"status": Status.NEW}, by="a test", revision=None)
    (held,) = take(work.items)
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["IN_PROGRESS"]
    assert work.items.outcome.say(item_id, Said(Status.DONE), robot_id="robot", fence=held.fence).status == "DONE"


def test_a_robot_that_gets_an_item_of_an_execution_begins_anew(work: Work) -> None:
    work.trigger()
    (item_id,) = work.add()
    work.rounds.round()
    (firing,) = work.firings()
    for said in (Said(Status.IN_PROGRESS, progress="page 3"), Said(Status.FAILED)):
        work.items.outcome.say(item_id, said, robot_id=firing.execution_id, fence=1)
    (row,) = work.item_rows()
    assert (row.status, row.job_id, row.progress) == ("NEW", firing.execution_id, "page 3")
    (held,) = take(work.items)
    assert (held.job_id, held.progress) == (None, None)
    assert work.items.listing.one(item_id) == held
    renewed = Said(Status.IN_PROGRESS, lease_seconds=3_600)
    longer = work.items.outcome.say(item_id, renewed, robot_id="robot", fence=held.fence)
    assert (longer.locked_until_ms or 0) > (held.locked_until_ms or 0)


def test_a_page_that_is_read_again_settles_nothing_twice(work: Work) -> None:
    make(work.items, max_retries=5)
    work.trigger()
    work.add()
    work.rounds.round()
    work.run_all(State.FAILED)
    position = work.consumer._position  # type: ignore[reportPrivateUsage]
    work.catch_up()
    work.consumer._position = position  # type: ignore[reportPrivateUsage]
    work.catch_up()
    (row,) = work.item_rows()
    assert row.retries == 1


def test_items_of_an_execution_that_nobody_knows_go_back_after_a_while(work: Work) -> None:
    work.trigger()
    work.add()
    work.rounds.round()
    work.queue.scripts.client.flushdb()
    work.catch_up()
    fresh = work.another_round(work.items.store)
    fresh.round()
    assert work.statuses() == ["IN_PROGRESS"]
    work.set_firings(sent_ms=work.now_ms() - LOST_AFTER_MS - 1_000 * (TIMEOUT_SECONDS + 1))
    work.catch_up()
    work.another_round(work.items.store).round()
    assert work.statuses() == ["NEW"]
    assert [each.state for each in work.firings()] == [LOST]
    work.set_trigger(next_fire_ms=1)
    assert work.rounds.round() == 1
    work.run_all()
    work.catch_up()
    assert work.statuses() == ["DONE"]


def test_an_end_that_was_written_without_its_items_settles_them_later(work: Work) -> None:
    """As by a process of the release before, which knows no triggers."""
    work.trigger()
    work.add()
    work.rounds.round()
    work.catch_up()
    work.set_executions(state="COMPLETED")
    work.set_firings(sent_ms=1)
    work.another_round(work.items.store).round()
    assert work.statuses() == ["DONE"]


def test_what_a_deleted_trigger_started_is_settled(work: Work) -> None:
    work.trigger()
    work.add(2)
    work.rounds.round()
    work.items.triggers.delete("book", by="a test")
    work.run_all()
    work.catch_up()
    assert work.rounds.round() == 0
    assert work.statuses() == ["DONE", "NEW"]
