"""The ledger is merged into a Redis that has work: other work, or that of an earlier moment."""

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import is_sound, metas_of, send

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
    kept = {key: redis_client.dump(key) for key in redis_client.keys("exec_queue:*")}
    grants = queue.transitions.admit(("executions",), 2).grants
    assert [grant.execution_id for grant in grants] == ["ends", "runs"]
    queue.transitions.release("ends", 1, State.COMPLETED, result=b'{"exit_code": 0}')
    queue.update_priority("waits", "CRITICAL")
    send(queue, "later")
    catch_up(consumer)

    redis_client.flushdb()
    for key, value in kept.items():
        assert value is not None
        redis_client.restore(key, 0, value)
    if consumer_notices:
        consumer.step()
        catch_up(consumer)
    send(queue, "only-in-Redis")
    rebuild(queue, database, merge=True)
    states = {one: meta["state"] for one, meta in metas_of(queue).items()}
    assert states["ends"] == State.COMPLETED
    assert states["waits"] == states["later"] == states["only-in-Redis"] == State.PENDING
    assert states["runs"] == (State.PENDING if consumer_notices else State.RUNNING)
    is_sound(queue)
    for _ in range(3):
        catch_up(consumer)
    rows = {row["execution_id"]: row["state"] for row in reading.rows("SELECT execution_id, state FROM executions")}
    assert rows == states
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL") == 0
