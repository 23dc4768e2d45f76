"""What a Redis that came back with older data has alive, though the ledger knows its end, is told until a rebuild."""

import pytest
import redis
from databases import SQLITE_IN_CHECK
from ledger_process import RunCommand
from ledger_reading import catch_up
from redis_work import Snapshot, restore_snapshot, send, snapshot
from sqlalchemy import update

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.schema.tables import executions
from bandmaster.ledger.unrestored import unrestored
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

ANY_KIND = pytest.mark.parametrize("database_kind", SQLITE_IN_CHECK, indirect=True)


def revived(database: Database) -> tuple[int, int]:
    """How many have lived since, and how many still do."""
    with database.reading() as connection:
        found = unrestored(connection)
    return (0, 0) if found is None else (found.revived, found.living_again)


def run(queue: ExecutionQueueService, *names: str) -> None:
    """Each runs, and ends; they wait in this order."""
    for name in names:
        (grant,) = queue.transitions.admit(("executions",), 1).grants
        assert grant.execution_id == name
        queue.transitions.release(name, grant.attempt, State.COMPLETED)


def copied_with(queue: ExecutionQueueService, consumer: Consumer, redis_client: redis.Redis, names: str) -> Snapshot:
    """Data of Redis in which these wait, as the ledger has read."""
    for name in names:
        send(queue, name)
    catch_up(consumer)
    return snapshot(redis_client)


def settle(consumer: Consumer) -> None:
    """It finds another journal, reads it, and compares."""
    for _ in range(3):
        catch_up(consumer)


def test_what_had_ended_and_lives_in_older_data_is_told_until_a_rebuild_ends_it(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    older = copied_with(queue, consumer, redis_client, "abcd")
    run(queue, "a", "b")
    queue.cancel("c")
    catch_up(consumer)
    assert revived(database) == (0, 0)
    restore_snapshot(redis_client, older)
    settle(consumer)
    assert revived(database) == (3, 3), "d had not ended"
    run(queue, "a")
    catch_up(consumer)
    assert revived(database) == (3, 2), "it has run twice"
    rebuild(queue, database, merge=True)
    settle(consumer)
    assert revived(database) == (0, 0)
    assert queue.views.pending() == ["d"]


def test_what_runs_and_ends_again_before_the_ledger_looks_is_told(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    older = copied_with(queue, consumer, redis_client, "abc")
    run(queue, "a", "b")
    catch_up(consumer)
    restore_snapshot(redis_client, older)
    run(queue, "a")
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    settle(consumer)
    assert revived(database) == (2, 1)
    assert grant.execution_id == "b"


def test_an_end_that_the_ledger_had_not_read_is_none(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    older = snapshot(redis_client)
    catch_up(consumer)
    run(queue, "a")
    restore_snapshot(redis_client, older)
    run(queue, "a")
    settle(consumer)
    assert revived(database) == (0, 0)


def test_neither_retries_nor_ids_that_are_used_again_are_taken_for_it(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    send(queue, "b")
    run(queue, "a")
    catch_up(consumer)
    older = snapshot(redis_client)
    redis_client.flushdb()
    at_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > at_ms, what="another millisecond")
    send(queue, "a")
    settle(consumer)
    assert revived(database) == (0, 0), "an emptied server has another one of this id"
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    queue.transitions.settle(Retry("a", grant.attempt, "retry"))
    catch_up(consumer)
    assert revived(database) == (0, 0)
    restore_snapshot(redis_client, older)
    run(queue, "b")
    settle(consumer)
    assert revived(database) == (0, 0), "what had ended in the older data has ended"


def test_a_beginning_that_was_dropped_unread_makes_no_earlier_end_its_own(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    run(queue, "a")
    catch_up(consumer)
    redis_client.flushdb()
    at_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > at_ms, what="another millisecond")
    send(queue, "a")
    redis_client.xtrim("exec_queue:journal", maxlen=0, approximate=False)
    assert queue.transitions.admit(("executions",), 1).grants
    settle(consumer)
    assert revived(database) == (0, 0)


def test_ends_and_lives_of_one_journal_are_none(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    """There, a row that was taken over from Redis is ahead of the entries that follow."""
    redis_client.flushdb()
    settle(consumer)
    send(queue, "a")
    catch_up(consumer)
    with database.writing() as connection:
        connection.execute(update(executions).values(state=State.COMPLETED, ended_ms=executions.c.accepted_ms))
    assert queue.transitions.admit(("executions",), 1).grants
    catch_up(consumer)
    assert revived(database) == (0, 0)


@ANY_KIND
def test_the_command_tells_of_them(
    queue: ExecutionQueueService,
    consumer: Consumer,
    redis_client: redis.Redis,
    environment: dict[str, str],
    run_command: RunCommand,
) -> None:
    send(queue, "a")
    send(queue, "b")
    catch_up(consumer)
    older = snapshot(redis_client)
    run(queue, "a", "b")
    catch_up(consumer)
    restore_snapshot(redis_client, older)
    run(queue, "a")
    settle(consumer)
    told = run_command(environment, "ledger")
    said = "lives again 1 of 2 executions that had ended and came back: `bandmaster ledger rebuild --merge` ends them"
    assert said in told.out.splitlines(), told
    document = run_command(environment, "ledger", "--json").json["ledger"]
    assert (document["revived_executions"], document["living_again"]) == (2, 1)
