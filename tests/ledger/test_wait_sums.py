"""The sums of waits equal all single answers added up: each ended wait once, whatever is killed between."""

from random import Random
from typing import Any

import pytest
import redis
from keeping import DAY_MS, forget, send
from ledger_reading import Reading, catch_up
from summed_waits import Rounds, counts_of, naive_sums, sums_of
from test_waits_replayed import DECLARED, Game

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import NotConsumer
from bandmaster.ledger.retention import Kept
from bandmaster.ledger.waits import summing as module
from bandmaster.ledger.waits.attributing import Cause, Part
from bandmaster.ledger.waits.ended import Owner
from bandmaster.ledger.waits.episodes import Wait
from bandmaster.ledger.waits.spans import Span
from bandmaster.ledger.waits.sums import WaitSums
from bandmaster.ledger.waits.telling import Waited
from bandmaster.scheduler.queue import ExecutionQueueService

STEPS = 250


class Killed(BaseException):
    """The process has died."""


class Stage:
    """A queue whose ledger sums waits."""

    def __init__(self, queue: ExecutionQueueService, database: Database) -> None:
        self.queue, self.database, self.reading = queue, database, Reading(database)
        self.book, self.consumer = self.next_process("first")

    def next_process(self, holder: str) -> tuple[Book, Consumer]:
        """Another one becomes the consumer, as the one before has died."""
        self.reading.change("UPDATE consumer SET renewed_ms = 0")
        self.book = Book(self.database, queue="exec_queue", holder=holder)
        self.consumer = Consumer(self.queue, self.book)
        assert self.consumer.begin()
        return self.book, self.consumer

    def wait_and_run(self, name: str, **fields: object) -> None:
        """Let an execution wait for some milliseconds, run and end."""
        send(self.queue, name, **fields)
        self.tick()
        (grant,) = self.queue.transitions.admit(("executions",), 1).grants
        self.queue.release(grant.execution_id, attempt=grant.attempt)

    def tick(self) -> None:
        until_ms = self.queue.views.server_time_ms() + 3
        while self.queue.views.server_time_ms() < until_ms:
            pass


@pytest.fixture
def stage(queue: ExecutionQueueService, database: Database) -> Stage:
    return Stage(queue, database)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_sums_equal_all_single_answers_whatever_is_killed_between(
    seed: int, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.queue.controls.declare_limits(DECLARED)
    game, chances, put, kills = Game(stage.queue, seed), Random(seed), module.put, 0
    rounds = Rounds(stage.queue, stage.book)

    def dies(*given: Any, **named: Any) -> None:
        put(*given, **named)
        raise Killed  # with all of the round written, and nothing committed

    for step in range(STEPS):
        game.act()
        if step % 9 == 0:
            catch_up(stage.consumer)
            rounds.one()
        if step % 31 == 0:
            catch_up(stage.consumer)
            monkeypatch.setattr(module, "put", dies)
            try:
                rounds.all()
            except Killed:
                kills += 1
            monkeypatch.setattr(module, "put", put)
            if chances.random() < 0.5:
                stage.next_process(f"after {step}")
            rounds = Rounds(stage.queue, stage.book, round_seconds=chances.choice((0.0, 10**9)))
    catch_up(stage.consumer)
    rounds.all()
    expected, ended, sampled = naive_sums(stage.queue, stage.database)
    assert sums_of(stage.reading) == expected
    assert counts_of(stage.reading) == (ended, ended, sampled, 0)
    assert {cause for _, _, cause, _ in expected} >= {Cause.GATE, Cause.PAUSE, Cause.THREAD}
    assert kills > 2
    assert ended > 20


def test_who_is_no_longer_the_consumer_sums_nothing(stage: Stage) -> None:
    for number in range(4):
        stage.wait_and_run(f"e-{number}")
    catch_up(stage.consumer)
    before, rounds = stage.book, Rounds(stage.queue, stage.book)
    rounds.one()
    stage.next_process("second")
    with pytest.raises(NotConsumer):
        rounds.all()
    assert counts_of(stage.reading) == (0, 0, 0, 0)
    assert Rounds(stage.queue, stage.book).all() == 4
    # It is the consumer again, and still has in mind what the other has summed.
    assert before.take() is False
    stage.reading.change("UPDATE consumer SET renewed_ms = 0")
    assert before.take()
    assert rounds.one() == 0
    assert counts_of(stage.reading) == (4, 4, 0, 0)


def test_a_limit_that_is_set_before_the_round_counts_for_no_time_before_it(stage: Stage) -> None:
    """The ledger has not read the change, and Redis has the limit already."""
    stage.wait_and_run("a")
    catch_up(stage.consumer)
    stage.queue.controls.set_limit("action:pod", 0)
    rounds = Rounds(stage.queue, stage.book)
    assert [rounds.one() for _ in range(5)] == [0] * 5
    catch_up(stage.consumer)
    assert rounds.all() == 1
    assert {cause for _, _, cause, _ in sums_of(stage.reading)} == {Cause.THREAD}


def test_who_falls_behind_attributes_some_evenly_spread_and_counts_the_others(stage: Stage) -> None:
    for number in range(40):
        stage.wait_and_run(f"e-{number}", action=f"a-{number // 10}")
    catch_up(stage.consumer)
    # A second goes by between two waits, and time for eight of them.
    rounds = Rounds(stage.queue, stage.book, behind_ms=-1, round_seconds=7.5)
    while not stage.reading.rows("SELECT * FROM wait_positions"):
        rounds.one()
    waits, summed, _, incomplete = counts_of(stage.reading)
    assert (waits, summed, incomplete) == (40, 8, 0)
    by_action = stage.reading.rows("SELECT name, waits, summed FROM wait_counts WHERE by_what = 'action' ORDER BY name")
    assert [(row["name"], row["waits"], row["summed"]) for row in by_action] == [(f"a-{n}", 10, 2) for n in range(4)]


def test_waits_over_a_gap_are_counted_as_incomplete_and_not_attributed(stage: Stage, redis_client: redis.Redis) -> None:
    stage.wait_and_run("before")
    send(stage.queue, "across")
    catch_up(stage.consumer)
    redis_client.xadd("exec_queue:journal", {"foo": "bar"})
    redis_client.xtrim("exec_queue:journal", maxlen=0, approximate=False)
    catch_up(stage.consumer)
    catch_up(stage.consumer)
    stage.tick()
    (grant,) = stage.queue.transitions.admit(("executions",), 1).grants
    stage.queue.release(grant.execution_id, attempt=grant.attempt)
    stage.tick()
    stage.wait_and_run("after")
    catch_up(stage.consumer)
    Rounds(stage.queue, stage.book).all()
    assert counts_of(stage.reading) == (3, 2, 0, 1)


def test_a_wait_of_which_nothing_is_known_any_more_is_counted_as_incomplete(stage: Stage) -> None:
    stage.wait_and_run("deleted", action="old")
    stage.wait_and_run("damaged")
    stage.wait_and_run("kept")
    catch_up(stage.consumer)
    stage.reading.change("DELETE FROM executions WHERE execution_id = 'deleted'")
    stage.reading.change(
        "UPDATE transitions SET details = '{\"due\": \"soon\"}' WHERE verb = 'park' AND execution_id = 'damaged'"
    )
    Rounds(stage.queue, stage.book).all()
    assert counts_of(stage.reading) == (3, 1, 0, 2)
    named = stage.reading.rows("SELECT name, incomplete FROM wait_counts WHERE incomplete > 0 ORDER BY name")
    assert [(row["name"], row["incomplete"]) for row in named] == [("", 1), ("pod", 1)]


def test_an_hour_has_a_bounded_number_of_sums_and_no_time_is_lost(stage: Stage) -> None:
    for number in range(7):
        stage.wait_and_run(f"e-{number}", action=f"a-{number}", metadata={"user_id": f"u-{number % 2}"})
    catch_up(stage.consumer)
    Rounds(stage.queue, stage.book, most=3).all()
    found, (expected, *_) = sums_of(stage.reading), naive_sums(stage.queue, stage.database)
    for by in ("action", "user"):
        assert sum(ms for key, (ms, _) in found.items() if key[0] == by) == sum(
            ms for key, (ms, _) in expected.items() if key[0] == by
        )
    hours = stage.reading.one("SELECT count(DISTINCT hour_ms) FROM wait_sums")
    for table in ("wait_sums", "wait_counts"):
        named = stage.reading.one(f"SELECT count(*) FROM {table} WHERE by_what = 'action' AND name != ''")
        assert 3 <= named <= 3 * hours
        assert stage.reading.one(f"SELECT count(*) FROM {table} WHERE by_what = 'action' AND name = ''") <= hours
    assert counts_of(stage.reading) == (7, 7, 0, 0)
    assert {key[1] for key in found if key[0] == "user"} == {"u-0", "u-1"}


def test_a_user_who_is_forgotten_before_the_wait_is_attributed_makes_it_incomplete(stage: Stage) -> None:
    stage.queue.controls.set_limit("user:ada", 1)
    stage.wait_and_run("e", metadata={"user_id": "ada"})
    catch_up(stage.consumer)
    rounds = Rounds(stage.queue, stage.book)
    rounds.one()
    stage.reading.change("UPDATE executions SET user_id = 'forgotten-1'")
    assert rounds.all() == 1
    assert counts_of(stage.reading) == (1, 0, 0, 1)
    (row,) = stage.reading.rows("SELECT name FROM wait_counts WHERE by_what = 'user'")
    assert row["name"] == "forgotten-1"


def test_a_user_who_is_forgotten_before_the_round_is_written_is_summed_by_the_other_name() -> None:
    sums, wait = WaitSums(), Wait(1, Span(0, 7), None, "admit")
    waited = Waited(wait, [Part(Cause.GATE, "user:ada", 7)], sampled=False)
    sums.add(waited, 7, Owner("pod", "ada", "executions", 0), Owner("pod", "forgotten-1", "executions", 0))
    assert [key[2:] for key in sums.sums] == [
        ("pod", "gate", "user:forgotten-1"),
        ("forgotten-1", "gate", "user:forgotten-1"),
        ("user:forgotten-1", "gate", ""),
    ]
    assert [key[2] for key in sums.counts] == ["pod", "forgotten-1"]


def test_old_hours_are_deleted_and_the_others_stay(stage: Stage) -> None:
    stage.wait_and_run("e", metadata={"user_id": "ada"}, gates=["tenant:acme"])
    catch_up(stage.consumer)
    Rounds(stage.queue, stage.book).all()
    for table in ("wait_sums", "wait_counts"):
        stage.reading.change(f"INSERT INTO {table} SELECT {_shifted(stage, table)} FROM {table}")
    now_ms = stage.queue.views.server_time_ms()
    forget(stage.book, Kept(ms=30 * DAY_MS), now_ms)
    for table in ("wait_sums", "wait_counts"):
        assert stage.reading.one(f"SELECT count(*) FROM {table} WHERE hour_ms < :ms", ms=now_ms - 30 * DAY_MS) == 0
        assert stage.reading.one(f"SELECT count(*) FROM {table}") > 0


def _shifted(stage: Stage, table: str) -> str:
    (row, *_) = stage.reading.rows(f"SELECT * FROM {table}")
    return ", ".join(f"hour_ms - {40 * DAY_MS}" if name == "hour_ms" else name for name in row)
