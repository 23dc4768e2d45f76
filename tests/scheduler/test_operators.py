"""Who changed what: operators' changes are in the journal with who asked, once, and the last are kept by themselves."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.controls import Dropped
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.operators import NO_OPERATOR, this_process, user_at_host
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService, candidate_of

ANN = "ann@laptop"
CHANGES: dict[str, tuple[Callable[[ExecutionQueueService], object], list[str]]] = {
    "limit": (lambda queue: queue.controls.set_limit("gpu", 2, by=ANN), ["gpu", "", "2"]),
    "pause": (lambda queue: queue.controls.pause("lane:mail", by=ANN), ["lane:mail", "", "paused"]),
    "resume": (lambda queue: queue.controls.resume("lane:old", by=ANN), ["lane:old", "paused", ""]),
    "set": (lambda queue: queue.controls.change_setting("max_crashes", 7, by=ANN), ["max_crashes", "3", "7"]),
}


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """One waits; a lane is paused."""
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    queue.controls.pause("lane:old", by="before")
    return queue


def entries(queue: ExecutionQueueService, verb: str) -> list[JournalEntry]:
    return [entry for entry in queue.journal.entries() if entry.verb == verb]


@pytest.mark.parametrize("verb", CHANGES)
def test_a_change_is_journalled_once_with_who_made_it(verb: str, queue: ExecutionQueueService) -> None:
    change, said = CHANGES[verb]
    change(queue)
    change(queue)  # its reply was lost, or somebody makes sure
    (entry,) = [each for each in entries(queue, verb) if each.fields["by"] == ANN]
    assert entry.execution_id == ""
    assert [entry.fields[name] for name in ("name", "from", "to")] == said
    change_kept = queue.journal.changes(10)[0]
    assert (change_kept.verb, change_kept.by, change_kept.at_ms) == (verb, ANN, entry.at_ms)
    assert [change_kept.name, change_kept.before, change_kept.after] == said


def test_the_latest_change_comes_first(queue: ExecutionQueueService) -> None:
    for limit in (1, 2, None):
        queue.controls.set_limit("gpu", limit)
    assert [(each.before, each.after) for each in queue.journal.changes(3)] == [("2", ""), ("1", "2"), ("", "1")]
    assert len(queue.journal.changes(100)) == 4


def test_what_was_done_to_an_execution_is_journalled_with_who_did_it(queue: ExecutionQueueService) -> None:
    queue.enqueue_many([event("y"), event("z")])
    assert queue.update_priority("x", "HIGH", by=ANN)
    queue.cancel("x", by=ANN)
    queue.remove("y", by=ANN)
    queue.try_schedule()
    queue.cancel("z", by=ANN)
    queue.release("z", 1, State.CANCELLED)
    queue.transitions.bury(candidate_of(event("refused")), "full")
    assert queue.drop("refused", by=ANN)
    by = [(each.execution_id, each.verb) for each in queue.journal.entries() if each.fields.get("by") == ANN]
    assert by == [("x", "reprioritise"), ("x", "cancel"), ("y", "remove"), ("z", "cancel"), ("refused", "drop")]


def test_nobody_is_named_where_no_operator_asked(queue: ExecutionQueueService) -> None:
    queue.try_schedule()
    queue.transitions.cancel("x", outcome=State.TIMEOUT, attempt=1, by=NO_OPERATOR)
    queue.release("x", 1)
    assert all("by" not in entry.fields for entry in queue.journal.of("x"))


def test_who_does_not_say_is_named_by_its_process_or_by_what_its_service_says(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("gpu", 1)
    ExecutionQueueService(redis_client, by="deploy 42").controls.set_limit("gpu", 2)
    ExecutionQueueService(redis_client, by="deploy 42").cancel("x")
    assert [each.by for each in queue.journal.changes(2)] == ["deploy 42", this_process()]
    assert this_process().startswith(f"{user_at_host()}/")
    (cancelled,) = entries(queue, "cancel")
    assert cancelled.fields["by"] == "deploy 42"


def test_what_a_process_seeds_is_no_operators_change(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_crashes", 7, only_if_unset=True)
    assert entries(queue, "set") == []


@pytest.mark.parametrize("by", ["", "  ", "two\nlines", "x" * 201, 7])
def test_who_asks_has_to_be_a_name_and_else_nothing_is_changed(
    by: object, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    with pytest.raises(InvalidRequest, match="by: "):
        queue.controls.set_limit("gpu", 1, by=by)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="by: "):
        ExecutionQueueService(redis_client, by=by)  # type: ignore[arg-type]
    assert queue.controls.limits() == {}


def test_a_mass_of_transitions_does_not_drive_the_changes_out(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("gpu", 1, by=ANN)
    redis_client.xtrim("exec_queue:journal", maxlen=0, approximate=False)
    assert queue.journal.changes(1)[0].by == ANN
    for number in range(3_000):
        queue.controls.set_limit("gpu", number % 2)
    assert int(redis_client.xlen("exec_queue:changes")) < 1_200  # type: ignore[arg-type]


class TestActions:
    """What was counted of an action stays until somebody drops it."""

    def test_statistics_of_an_action_that_nobody_uses_are_dropped(
        self, queue: ExecutionQueueService, redis_client: redis.Redis
    ) -> None:
        queue.enqueue(event("y", action="old"))
        assert queue.controls.drop_action("old") is Dropped.IN_USE
        queue.cancel("y")
        assert [(each.action, each.total_enqueued) for each in queue.overview.actions()] == [("old", 1), ("pod", 1)]
        assert queue.controls.drop_action("old", by=ANN) is Dropped.DROPPED
        assert queue.controls.drop_action("old", by=ANN) is Dropped.UNKNOWN
        assert [each.action for each in queue.overview.actions()] == ["pod"]
        assert redis_client.keys("exec_queue:action:old*") == []
        (entry,) = entries(queue, "drop_action")
        assert (entry.fields["name"], entry.fields["by"]) == ("action:old", ANN)

    def test_one_that_runs_is_used(self, queue: ExecutionQueueService) -> None:
        queue.try_schedule()
        assert queue.controls.drop_action("pod") is Dropped.IN_USE
        assert queue.action_statistics("pod").total_enqueued == 1

    def test_what_comes_later_is_counted_anew_and_can_be_dropped_again(self, queue: ExecutionQueueService) -> None:
        for name in ("y", "z"):
            queue.enqueue(event(name, action="old"))
            queue.cancel(name)
            statistics = queue.action_statistics("old")
            assert (statistics.total_enqueued, statistics.total_completed) == (1, 1)
            assert queue.controls.drop_action("old") is Dropped.DROPPED

    def test_one_that_is_scheduled_is_used(self, queue: ExecutionQueueService) -> None:
        soon = datetime.now(UTC) + timedelta(hours=1)
        queue.enqueue(event("other", scheduled_at=soon))
        queue.enqueue(event("later", action="old", scheduled_at=soon))
        assert queue.controls.drop_action("old") is Dropped.IN_USE
        assert queue.action_statistics("old").total_enqueued == 1
        queue.cancel("later")
        assert queue.controls.drop_action("old") is Dropped.DROPPED

    def test_of_more_that_are_scheduled_than_are_looked_at_the_counters_tell(
        self, queue: ExecutionQueueService, redis_client: redis.Redis
    ) -> None:
        later = datetime.now(UTC) + timedelta(hours=1)
        redis_client.zadd("exec_queue:scheduled", {f"lost-{number}": 1e15 + number for number in range(10_000)})
        queue.enqueue(event("later", action="old", scheduled_at=later))
        redis_client.zadd("exec_queue:scheduled", {"later": 2e15})
        assert queue.controls.drop_action("old") is Dropped.IN_USE
        queue.cancel("later")
        assert queue.controls.drop_action("old") is Dropped.DROPPED

    def test_a_damaged_one_that_is_scheduled_keeps_no_action(
        self, queue: ExecutionQueueService, redis_client: redis.Redis
    ) -> None:
        queue.enqueue(event("broken", action="old", scheduled_at=datetime.now(UTC) + timedelta(hours=1)))
        redis_client.delete("exec_queue:meta:broken")
        redis_client.set("exec_queue:meta:broken", "no hash")
        assert queue.controls.drop_action("old") is Dropped.DROPPED
