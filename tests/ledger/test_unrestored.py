"""A Redis that began anew without work or what operators set is told of until somebody rebuilds it (F15)."""

import pytest
import redis
from ledger_reading import catch_up
from sqlalchemy import delete, update

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.schema.tables import changes, executions, journals, payloads
from bandmaster.ledger.unrestored import TOLD_MS, Unrestored, unrestored
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.planning import put
from bandmaster.scheduler.queue import ExecutionQueueService


def missing(database: Database) -> tuple[int, int] | None:
    """How many executions and changes."""
    with database.reading() as connection:
        found = unrestored(connection)
    return None if found is None else (found.executions, found.changes)


def follow_another(consumer: Consumer) -> None:
    """The first step finds that the journal is another one, the next one reads it and compares."""
    assert consumer.step() == 0
    catch_up(consumer)


def send(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue({"execution_id": name, "command": ["true"], "action": "resize"})


def set_some(queue: ExecutionQueueService) -> None:
    """Three are in force at the end, of which one adjusts itself."""
    controls = queue.controls
    controls.set_limit("action:resize", 3, by="ada")
    controls.set_limit("user:ann", 2, by="ada")
    controls.set_limit("user:ann", None, by="ada")
    controls.pause("action:report", by="ada")
    controls.resume("action:report", by="ada")
    controls.pause("action:resize", by="ada")
    controls.set_limit("action:mail", Auto(2, 50, start=12), by="ada")


def lose(consumer: Consumer, redis_client: redis.Redis) -> None:
    """Redis loses everything that the ledger has read, and begins anew."""
    catch_up(consumer)
    redis_client.flushdb()
    follow_another(consumer)


def test_a_first_journal_lacks_nothing(queue: ExecutionQueueService, consumer: Consumer, database: Database) -> None:
    assert missing(database) is None, "nobody has read anything"
    send(queue, "a")
    set_some(queue)
    catch_up(consumer)
    assert missing(database) is None


def test_it_is_told_until_a_rebuild_is_read(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a", "b", "c")
    queue.cancel("c")
    set_some(queue)
    catch_up(consumer)
    redis_client.flushdb()
    send(queue, "d")
    follow_another(consumer)
    assert missing(database) == (2, 3)
    queue.controls.resume("action:resize", by="ada")
    queue.controls.set_limit("action:resize", 9, by="ada")
    catch_up(consumer)
    assert missing(database) == (2, 2), "of what was set again since, nothing is missing"
    rebuild(queue, database, merge=True)
    catch_up(consumer)
    assert missing(database) is None


def test_a_second_loss_takes_nothing_away_from_the_first(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a", "b")
    queue.controls.set_limit("action:resize", 3, by="ada")
    lose(consumer, redis_client)
    send(queue, "c")
    queue.controls.set_limit("action:mail", 3, by="ada")
    lose(consumer, redis_client)
    assert missing(database) == (3, 2)
    rebuild(queue, database)
    catch_up(consumer)
    assert missing(database) is None
    redis_client.flushdb()
    follow_another(consumer)
    assert missing(database) == (3, 2), "what a rebuild restored can be lost again"


def test_schedules_of_operators_count_and_what_is_empty_again_does_not(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    for name in ("kept", "gone"):
        schedule = Schedule.of({"name": name, "cron": "0 0 1 1 *", "command": ["true"]})
        put(queue.schedules, schedule, by="ada")
    queue.schedules.remove("gone", by="ada")
    for each in queue.ids.scheduled():
        queue.cancel(each)
    lose(consumer, redis_client)
    assert missing(database) == (0, 1)


def test_what_nobody_set_and_nobody_waits_for_is_not_missed(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    queue.cancel("a")
    lose(consumer, redis_client)
    assert missing(database) is None


def test_rates_and_settings_count_and_limits_that_processes_declare_do_not(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.controls.rates.set("action:resize", "5/s", by="ada")
    queue.controls.rates.set("action:mail", "5/s", by="ada")
    queue.controls.rates.set("action:mail", None, by="ada")
    queue.controls.change_setting("max_queue_size", 77, by="ada")
    lose(consumer, redis_client)
    assert missing(database) == (0, 2)
    with database.writing() as connection:
        of_rate = update(changes).where(changes.c.verb == "rate", changes.c.value_after.is_not(None))
        connection.execute(of_rate.values(verb="limit", value_after="auto(2,50), now 12, declared: full"))
    assert missing(database) == (0, 1)


def test_what_a_rebuild_could_not_restore_is_told_no_more_and_is_no_part_of_the_next_loss(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    queue.controls.set_limit("action:resize", 3, by="ada")
    lose(consumer, redis_client)
    with database.writing() as connection:
        connection.execute(delete(payloads))
    assert list(rebuild(queue, database, merge=True).not_restored) == ["a"]
    catch_up(consumer)
    assert missing(database) is None
    send(queue, "b", "c")
    lose(consumer, redis_client)
    assert missing(database) == (2, 1)
    with database.writing() as connection:
        # Its end was dropped unread.
        connection.execute(update(executions).where(executions.c.execution_id == "b").values(ended_ms=1))
    assert missing(database) == (1, 1)


def test_what_redis_forgot_in_its_first_journal_is_no_loss(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    send(queue, "a")
    catch_up(consumer)
    with database.writing() as connection:
        connection.execute(update(executions).values(lost_ms=queue.views.server_time_ms()))
    assert missing(database) is None


def test_a_loss_that_redis_dates_in_the_future_was_just_now(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    lose(consumer, redis_client)
    with database.writing() as connection:
        later_ms = journals.c.begun_ms + 3_600_000
        connection.execute(update(journals).values(begun_ms=later_ms))
        connection.execute(update(executions).values(lost_ms=executions.c.lost_ms + 3_600_000))
        found = unrestored(connection)
    assert found is not None
    assert (found.since_ms, found.executions) == (0, 1)


def test_a_rebuild_that_died_is_none(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a", "b")
    queue.controls.pause("action:resize", by="ada")
    lose(consumer, redis_client)

    def die(_: str) -> None:
        raise KeyboardInterrupt

    with database.reading() as connection:
        before = unrestored(connection)
    assert before is not None
    assert not before.is_begun
    with pytest.raises(KeyboardInterrupt):
        rebuild(queue, database, say=die)
    catch_up(consumer)
    with database.reading() as connection:
        found = unrestored(connection)
    assert found is not None, "it has paused everything, and restored nothing that waits"
    assert (found.executions, found.is_begun) == (2, True)
    rebuild(queue, database, merge=True)
    catch_up(consumer)
    assert missing(database) is None


def test_a_rebuild_that_leaves_the_pause_of_an_operator_has_ended(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    catch_up(consumer)
    redis_client.flushdb()
    queue.controls.pause(by="ada")
    follow_another(consumer)
    assert missing(database) == (1, 0)
    assert rebuild(queue, database).stays_paused
    catch_up(consumer)
    assert missing(database) is None


@pytest.mark.parametrize(("age_ms", "expected"), [(TOLD_MS - 60_000, True), (TOLD_MS, False)])
def test_it_is_told_for_some_days(
    age_ms: int,
    expected: bool,
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    redis_client: redis.Redis,
) -> None:
    send(queue, "a")
    lose(consumer, redis_client)
    with database.writing() as connection:
        connection.execute(update(journals).values(begun_ms=journals.c.begun_ms - age_ms))
        found = unrestored(connection)
    assert (found is not None) is expected
    if found is not None:
        assert isinstance(found, Unrestored)
        assert age_ms <= found.since_ms < age_ms + 60_000
