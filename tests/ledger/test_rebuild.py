"""Redis is lost, and is rebuilt from the ledger: all that waited waits in its order, what ran holds its slot, what has
ended stays ended (F15)."""

import random
from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up
from random_operators import Operators, seeds
from redis_work import comparable, is_sound, metas_of, send

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.mark.parametrize("seed", seeds(6))
def test_a_lost_redis_is_as_it_was(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    operators = Operators(queue, seed)
    for _ in range(250):
        operators.act()
    catch_up(consumer)
    before, order, dead = metas_of(queue), queue.views.pending(1000), set(queue.views.dead())
    limits, statistics = (
        queue.controls.limits(),
        {one: queue.action_statistics(one) for one in ("resize", "mail", "report")},
    )
    gates = ["tenant:acme", "user:ada"]
    held = queue.views.held(gates)

    redis_client.flushdb()
    done = rebuild(queue, database)
    assert done.not_restored == {}
    assert queue.views.pending(1000) == order
    after = metas_of(queue)
    living = {one for one, meta in before.items() if meta["state"] not in TERMINAL}
    assert {one for one, meta in after.items() if meta["state"] not in TERMINAL} == living
    for one in living:
        assert comparable(after[one]) == comparable(before[one]), one
    assert {one: meta["state"] for one, meta in after.items()} == {one: meta["state"] for one, meta in before.items()}
    assert set(queue.views.dead()) == dead
    assert queue.controls.limits() == limits
    assert {one: queue.action_statistics(one) for one in statistics} == statistics
    assert queue.views.held(gates) == held
    assert queue.controls.paused() == {}
    is_sound(queue)

    again = rebuild(queue, database, merge=True)
    assert again.restored == {}, "Redis knows all of it already"
    is_sound(queue)


@pytest.mark.parametrize("seed", seeds(4))
def test_the_ledger_goes_on_with_the_rebuilt_server(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: Any
) -> None:
    operators = Operators(queue, 100 + seed)
    for _ in range(150):
        operators.act()
    catch_up(consumer)
    redis_client.flushdb()
    if seed % 2:
        consumer.step()  # it notices before the rebuild, and finds all lost
        consumer.step()
    rebuild(queue, database)
    for _ in range(150):
        operators.act()
    for _ in range(3):
        catch_up(consumer)
    assert reading.one("SELECT count(*) FROM executions WHERE lost_ms IS NOT NULL") == 0
    rows = reading.rows("SELECT execution_id, state, attempt FROM executions")
    metas = queue.views.metas([row["execution_id"] for row in rows])
    assert [(row["state"], row["attempt"]) for row in rows] == [
        (meta["state"], int(meta.get("attempt", 0))) for meta in metas
    ]
    for row in reading.rows("SELECT ref, queue_stats.* FROM queue_stats JOIN action ON id = action_id"):
        known = queue.action_statistics(row["ref"])
        assert (row["queue_length"], row["active_count"]) == (known.queue_length, known.active_count), row
    holds = reading.rows("SELECT gate, count(*) AS n FROM holds WHERE until_ms IS NULL GROUP BY gate")
    gates = sorted({row["gate"] for row in reading.rows("SELECT gate FROM holds")})
    counts = {row["gate"]: row["n"] for row in holds}
    assert [counts.get(gate, 0) for gate in gates] == queue.views.held(gates)


def test_what_has_ended_is_not_run_again(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "done")
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    queue.transitions.release("done", grant.attempt, State.COMPLETED, result=b'{"exit_code": 0}')
    catch_up(consumer)
    redis_client.flushdb()
    rebuild(queue, database)
    assert queue.views.meta("done")["state"] == State.COMPLETED
    assert queue.views.result("done") == b'{"exit_code": 0}'
    with pytest.raises(DuplicateExecution):
        send(queue, "done")


def test_what_ran_waits_again_when_its_lease_has_run_out(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("lease_ttl_ms", 1_000)
    send(queue, "ran")
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    catch_up(consumer)
    redis_client.flushdb()
    rebuild(queue, database)
    assert queue.views.active() == ["ran"]
    (renewal,) = queue.transitions.renew([grant])
    assert renewal.name == "STALE", "its worker learns that it no longer holds it"
    redis_client.zadd("exec_queue:lease", {"ran\nexecutions\naction:pod": 1})
    (again,) = queue.transitions.admit(("executions",), 1).grants
    assert (again.execution_id, again.attempt) == ("ran", 2)
    is_sound(queue)


def test_a_pod_holds_its_slot_and_ends_its_execution(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("tenant:acme", 1)
    send(queue, "pod", gates=["tenant:acme"])
    send(queue, "next", gates=["tenant:acme"])
    (grant,) = queue.transitions.admit(("executions",), 5).grants
    queue.transitions.hand_over("pod", grant.attempt, "its-pod", "its-uid")
    catch_up(consumer)
    redis_client.flushdb()
    rebuild(queue, database)
    assert list(queue.views.pod_leases()) == ["pod"]
    assert queue.transitions.admit(("executions",), 5).grants == [], "the gate is full"
    settled = queue.transitions.release("pod", 1, State.COMPLETED, holder="pod:another")
    assert settled.code.name == "STALE"
    queue.transitions.release("pod", 1, State.COMPLETED, holder="pod:its-uid")
    (after,) = queue.transitions.admit(("executions",), 5).grants
    assert after.execution_id == "next"
    is_sound(queue)


def test_messages_that_were_not_kept_are_listed(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.transitions.park(Candidate(execution_id="m", lane="mails", band=2, action="mail", message=b"hello"))
    catch_up(consumer)
    redis_client.flushdb()
    done = rebuild(queue, database)
    assert done.not_restored == {"m": "it was PENDING on lane mails, and its payload is not in the ledger"}
    assert queue.views.meta("m") == {}


def test_kept_messages_are_restored(
    queue: ExecutionQueueService, database: Database, redis_client: redis.Redis
) -> None:
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"), keep_messages=True)
    assert consumer.begin()
    for number in range(250):
        candidate = Candidate(
            execution_id=f"m{number}", lane="mails", band=random.randrange(5), action="mail", message=b"hello"
        )
        queue.transitions.park(candidate)
    catch_up(consumer)
    mails = queue.on("mails")
    order = mails.views.pending(1000)
    redis_client.flushdb()
    assert rebuild(queue, database).restored == {State.PENDING: 250}
    assert mails.views.pending(1000) == order
    queue.transitions.park(Candidate(execution_id="later", lane="mails", band=0, action="mail", message=b"hello"))
    first = [one for one in order if mails.views.meta(one)["band"] == "0"]
    assert mails.views.pending(1000)[: len(first) + 1] == [*first, "later"]
    is_sound(queue)


def test_pauses_limits_and_settings_are_as_operators_left_them(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("tenant:*", 3)
    queue.controls.set_limit("user:ada", 1)
    queue.controls.set_limit("user:ada", None)
    queue.controls.pause("lane:mails")
    queue.controls.pause("tenant:acme")
    queue.controls.resume("tenant:acme")
    queue.controls.change_setting("max_queue_size", 77)
    queue.controls.change_setting("max_concurrent_executions", 5, lane="mails")
    queue.shares.share("mails", "user")
    queue.shares.share("executions", "tenant")
    queue.shares.share("strict", None)
    queue.shares.weigh("user:ada", 10)
    queue.controls.pause("*")
    catch_up(consumer)
    redis_client.flushdb()
    assert rebuild(queue, database).stays_paused
    assert (queue.shares.kind_of("mails"), queue.shares.kind_of("executions")) == ("user", "tenant")
    assert queue.shares.weights() == {"user:ada": 10}
    queue.shares.share("strict", "user", only_if_unset=True)
    assert queue.shares.kind_of("strict") is None, "an operator chose that"
    assert set(queue.controls.paused()) == {"*", "lane:mails"}
    assert queue.controls.limits() == {"tenant:*": 3}
    assert queue.views.status().settings["max_queue_size"] == 77
    assert queue.on("mails").views.status().settings["max_concurrent_executions"] == 5
    # Nothing of this is later than what operators do now.
    queue.controls.resume("*")
    queue.controls.change_setting("max_queue_size", 78)
    assert not rebuild(queue, database, merge=True).stays_paused
    assert set(queue.controls.paused()) == {"lane:mails"}
    assert queue.views.status().settings["max_queue_size"] == 78


def test_a_rebuild_that_died_is_run_again(
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(30):
        send(queue, f"e{number}", priority="HIGH" if number % 3 else "LOW")
    catch_up(consumer)
    order = queue.views.pending(100)
    redis_client.flushdb()
    said: list[str] = []

    def die(text: str) -> None:
        said.append(text)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(queue, database, say=die)
    assert set(queue.controls.paused()) == {"*"}
    catch_up(consumer)  # the ledger hears of the pause
    catch_up(consumer)
    rebuild(queue, database, merge=True)
    assert queue.views.pending(100) == order
    assert queue.controls.paused() == {}
    is_sound(queue)


def test_every_living_state_can_be_restored() -> None:
    assert {State.RUNNING, State.POD, State.CANCELLING} == HOLDING, "restore.lua lists them"
