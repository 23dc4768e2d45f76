"""The ledger is merged into a Redis that has work: other work, or that of an earlier moment."""

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import is_sound, metas_of, restore_snapshot, send, snapshot

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import QueueNotEmpty
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService


def test_a_queue_with_work_is_left_alone_unless_it_is_to_be_merged(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "old")
    catch_up(consumer)
    redis_client.flushdb()
    send(queue, "new")
    with pytest.raises(QueueNotEmpty, match="Redis has 1 executions that have not ended; with --merge"):
        rebuild(queue, database)
    assert queue.controls.paused() == {}
    rebuild(queue, database, merge=True)
    assert queue.views.pending() == ["old", "new"]
    is_sound(queue)


@pytest.mark.parametrize("consumer_notices", [False, True])
def test_what_has_ended_since_an_older_server_does_not_run_again(
    consumer_notices: bool,
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    reading: Reading,
    redis_client: redis.Redis,
) -> None:
    for name in ("ends", "runs", "waits"):
        send(queue, name)
    catch_up(consumer)
    kept = snapshot(redis_client)
    grants = queue.transitions.admit(("executions",), 2).grants
    assert [grant.execution_id for grant in grants] == ["ends", "runs"]
    queue.transitions.release("ends", 1, State.COMPLETED, result=b'{"exit_code": 0}')
    queue.update_priority("waits", "CRITICAL")
    send(queue, "later")
    catch_up(consumer)

    restore_snapshot(redis_client, kept)
    if consumer_notices:
        consumer.step()
        catch_up(consumer)
    send(queue, "only-in-Redis")
    rebuild(queue, database, merge=True)
    states = {one: meta["state"] for one, meta in metas_of(queue).items()}
    assert states["ends"] == State.COMPLETED
    assert states["waits"] == states["later"] == states["only-in-Redis"] == State.PENDING
    assert states["runs"] == State.RUNNING
    is_sound(queue)
    for _ in range(3):
        catch_up(consumer)
    rows = {row["execution_id"]: row["state"] for row in reading.rows("SELECT execution_id, state FROM executions")}
    assert rows == states
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL") == 0


@pytest.mark.parametrize("then_lost", [False, True], ids=["older data", "older data, then none"])
def test_what_was_committed_before_the_ledger_followed_an_older_server_is_not_forgotten(
    then_lost: bool,
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    reading: Reading,
    redis_client: redis.Redis,
) -> None:
    for name in ("ends", "fails", "dies", "tries-again", "in-pod", "waits-again"):
        send(queue, name)
    catch_up(consumer)
    older = snapshot(redis_client)
    act, names = queue.transitions, ("ends", "fails", "dies", "tries-again", "in-pod", "waits-again")
    assert [grant.execution_id for grant in act.admit(("executions",), 6).grants] == [*names]
    act.release("ends", 1, State.COMPLETED)
    act.release("fails", 1, State.FAILED, reason="out_of_paper")
    act.release("dies", 1, State.FAILED, reason="raised", dead=True)
    queue.retry("tries-again", 1)
    assert [grant.attempt for grant in act.admit(("executions",), 1).grants] == [2]
    act.hand_over("in-pod", 1, "its-pod", "its-uid")
    queue.retry("waits-again", 1, delay_ms=0)
    catch_up(consumer)
    ends = "SELECT execution_id, state, reason, ended_ms, dead FROM executions WHERE ended_ms IS NOT NULL ORDER BY 1"
    ended = reading.rows(ends)
    assert [row["execution_id"] for row in ended] == ["dies", "ends", "fails"]

    restore_snapshot(redis_client, older)
    assert consumer.step() == 0, "it notices"
    catch_up(consumer)
    act.admit(("executions",), 1)  # the one that had ended runs again: nobody knew it yet
    catch_up(consumer)
    assert reading.rows(ends) == [], "the ledger tells what the server knows"
    send(queue, "new")
    catch_up(consumer)
    if then_lost:
        redis_client.flushdb()
    rebuild(queue, database, merge=True)

    metas = metas_of(queue)
    assert {one: (meta["state"], meta.get("attempt", "0")) for one, meta in metas.items()} == {
        "ends": ("COMPLETED", "1"),
        "fails": ("FAILED", "1"),
        "dies": ("FAILED", "1"),
        "tries-again": ("RUNNING", "2"),
        "in-pod": ("POD", "1"),
        "waits-again": ("PENDING", "1"),
        "new": ("PENDING", "0"),
    }
    assert metas["fails"]["reason"] == "out_of_paper"
    assert (metas["in-pod"]["pod"], metas["in-pod"]["pod_uid"]) == ("its-pod", "its-uid")
    assert queue.views.dead() == ["dies"]
    is_sound(queue)
    for _ in range(3):
        catch_up(consumer)
    assert reading.rows(ends) == ended, "when and why they ended, and not when that was restored"


def test_an_end_is_that_of_its_own_execution_whatever_the_clock_says(
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    reading: Reading,
    redis_client: redis.Redis,
) -> None:
    send(queue, "set-back")
    catch_up(consumer)
    older = snapshot(redis_client)
    queue.transitions.admit(("executions",), 1)
    queue.transitions.release("set-back", 1, State.COMPLETED)
    catch_up(consumer)
    # As if the server's clock had been set back between its beginning and its end.
    reading.change("UPDATE transitions SET at_ms = at_ms - 3600000 WHERE verb <> 'park'")
    restore_snapshot(redis_client, older)
    consumer.step()
    catch_up(consumer)
    rebuild(queue, database, merge=True)
    assert metas_of(queue)["set-back"]["state"] == State.COMPLETED
    is_sound(queue)


def test_what_operators_changed_in_redis_since_the_ledger_read_it_stays(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    controls = queue.controls
    controls.pause("lane:mails")
    controls.pause("tenant:acme")
    controls.set_limit("user:ada", 5)
    controls.set_limit("tenant:*", 3)
    controls.change_setting("max_queue_size", 77)
    catch_up(consumer)
    controls.resume("lane:mails")
    controls.set_limit("user:ada", 2)
    controls.set_limit("tenant:*", None)
    controls.change_setting("max_queue_size", 78)
    assert rebuild(queue, database, merge=True).changes == 1, "only the pause that nobody ended"
    assert set(controls.paused()) == {"tenant:acme"}
    assert controls.limits() == {"user:ada": 2}
    assert queue.views.status().settings["max_queue_size"] == 78


def test_what_redis_may_have_forgotten_the_change_of_is_left_and_listed(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("user:ada", 5)
    queue.controls.pause("*")
    catch_up(consumer)
    queue.controls.set_limit("user:ada", 2)
    queue.controls.resume("*")
    for number in range(1_200):
        queue.controls.set_limit("user:bob", number)
    assert redis_client.xlen("exec_queue:changes") < 1_201
    done = rebuild(queue, database, merge=True)
    assert not done.stays_paused
    assert queue.controls.paused() == {}
    assert queue.controls.limits() == {"user:ada": 2, "user:bob": 1_199}
    assert done.not_set == {
        "limit user:ada": "Redis has forgotten whether it was changed since; it stays as Redis has it"
    }
