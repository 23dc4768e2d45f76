"""What executions of a real queue waited for, as the ledger tells it: each cause, each attempt, to the millisecond."""

import pytest
from ledger_reading import Reading, catch_up
from sqlalchemy import text

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.looking import execution_of
from bandmaster.ledger.waits.attributing import Cause, Part
from bandmaster.ledger.waits.in_force import in_force
from bandmaster.ledger.waits.telling import Told, waits_told
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService


class Stage:
    """A queue whose ledger tells of waits."""

    def __init__(self, queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading) -> None:
        self.queue, self.consumer, self.database, self.reading = queue, consumer, database, reading

    def send(self, name: str, **fields: object) -> None:
        self.queue.enqueue(ExecutionRequestedEvent.from_any({"execution_id": name, "command": ["true"]} | fields))

    def admit(self, *names: str) -> None:
        """Fill free threads; exactly these begin."""
        granted = self.queue.transitions.admit(("executions",), 10).grants
        assert [each.execution_id for each in granted] == list(names)

    def end(self, name: str) -> None:
        attempt = int(self.queue.views.metas([name])[0]["attempt"])
        self.queue.transitions.release(name, attempt, State.COMPLETED)

    def tick(self) -> int:
        """Let the server's clock go on by a millisecond at least; its time then."""
        began_ms = self.queue.views.server_time_ms()
        while (now_ms := self.queue.views.server_time_ms()) < began_ms + 3:
            pass
        return now_ms

    def told(self, name: str) -> Told:
        catch_up(self.consumer)
        with self.database.reading() as connection:
            row = execution_of(connection, name)
            assert row is not None
            told = waits_told(connection, row, in_force(self.queue, row.lane))
        for each in told.waits:
            assert sum(part.ms for part in each.parts) == each.wait.span.length_ms
        return told

    def parts(self, name: str) -> dict[tuple[Cause, str], Part]:
        """Those of its only wait."""
        (one,) = self.told(name).waits
        assert not one.sampled
        return {(part.cause, part.name): part for part in one.parts}

    def at(self, name: str, verb: str) -> int:
        """When something last happened to an execution."""
        query = "SELECT max(at_ms) FROM transitions WHERE execution_id = :name AND verb = :verb"
        return self.reading.one(query, name=name, verb=verb)


@pytest.fixture
def stage(queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading) -> Stage:
    queue.controls.change_setting("max_concurrent_executions", 10)
    return Stage(queue, consumer, database, reading)


def test_a_wait_behind_a_gate_names_those_who_held_it_and_then_the_thread(stage: Stage) -> None:
    stage.queue.controls.set_limit("tenant:*", 2)
    for name in ("a", "b", "c"):
        stage.send(name, gates=["tenant:acme"])
    stage.admit("a", "b")
    stage.tick()
    stage.end("a")
    stage.tick()
    stage.send("other")
    stage.queue.transitions.admit(("executions",), 1)
    stage.tick()
    stage.admit("other")

    parts = stage.parts("c")
    behind = parts[Cause.GATE, "tenant:acme"]
    assert (behind.limit, behind.holder_count) == (2, 2)
    assert {each.execution_id for each in behind.holders} == {"a", "b"}
    begun = max(stage.at("b", "admit"), stage.at("c", "park"))
    assert behind.ms == stage.at("a", "release") - begun
    for_thread = parts[Cause.THREAD, ""]
    assert for_thread.ms == stage.at("c", "admit") - stage.at("a", "release") + begun - stage.at("c", "park")
    assert set(parts) == {(Cause.GATE, "tenant:acme"), (Cause.THREAD, "")}


def test_each_wait_is_told_by_itself_its_delay_and_pauses_too_and_one_that_goes_on_until_now(stage: Stage) -> None:
    stage.queue.controls.pause("lane:executions")
    stage.send("a")
    paused_until_ms = stage.tick()
    stage.queue.controls.resume("lane:executions")
    stage.admit("a")
    stage.queue.retry("a", 1, delay_ms=5)
    stage.tick()
    stage.tick()
    stage.queue.controls.change_setting("max_concurrent", 0)
    stage.tick()
    stage.admit()

    told = stage.told("a")
    first, second = told.waits
    assert (first.wait.attempt, first.wait.ended_by) == (1, "admit")
    paused = {(part.cause, part.name): part.ms for part in first.parts}[Cause.PAUSE, "lane:executions"]
    assert paused >= paused_until_ms - stage.at("a", "park")
    assert (second.wait.attempt, second.wait.ended_by) == (2, None)
    assert second.wait.span.until_ms >= stage.at("a", "promote")
    causes = {part.cause: part for part in second.parts}
    assert causes[Cause.DELAY].ms == 5
    assert causes[Cause.EVERYTHING].limit == 0
    assert told.complete


def test_a_wait_for_the_rate_of_a_gate_is_told_until_the_millisecond_at_which_it_opens(stage: Stage) -> None:
    stage.queue.controls.rates.declare({"executions": {"tenant:*": Rate.read("1/30ms burst 2")}})
    stage.queue.controls.set_limit("tenant:acme", 3)
    for name in ("a", "b", "c"):
        stage.send(name, gates=["tenant:acme"])
    stage.admit("a", "b")
    stage.queue.controls.pause("tenant:acme")
    paused_ms = stage.tick()
    stage.queue.controls.resume("tenant:acme")
    while stage.tick() < paused_ms + 40:
        pass
    stage.admit("c")

    parts = stage.parts("c")
    assert set(parts) == {(Cause.RATE, "tenant:acme"), (Cause.PAUSE, "tenant:acme"), (Cause.THREAD, "")}
    assert stage.at("c", "admit") - stage.at("a", "admit") >= 30
    closed = parts[Cause.RATE, "tenant:acme"]
    assert closed.spans[-1].until_ms == stage.at("a", "admit") + 30
    assert (closed.limit, closed.holder_count) == (None, 0)


def test_the_bound_of_its_lane_names_who_ran_in_it(stage: Stage) -> None:
    stage.queue.controls.change_setting("max_concurrent_executions", 1)
    stage.send("a")
    stage.admit("a")
    stage.send("b")
    stage.queue.on("mail").enqueue(ExecutionRequestedEvent(execution_id="m", command=("true",)))
    assert stage.queue.transitions.admit(("mail",), 1).grants[0].execution_id == "m"
    stage.tick()
    stage.end("a")
    stage.admit("b")
    part = stage.parts("b")[Cause.LANE, "executions"]
    assert (part.limit, [each.execution_id for each in part.holders]) == (1, ["a"])
    assert part.ms == stage.at("a", "release") - stage.at("b", "park")


def test_those_that_began_while_it_wanted_a_thread_are_counted(stage: Stage) -> None:
    stage.send("late", priority="LOW")
    stage.send("first", priority="HIGH")
    stage.tick()
    assert len(stage.queue.transitions.admit(("executions",), 1).grants) == 1
    stage.tick()
    stage.admit("late")
    assert stage.parts("late")[Cause.THREAD, ""].started_ahead == 1


def test_that_an_end_was_dropped_unread_is_said(stage: Stage) -> None:
    stage.send("x")
    stage.admit("x")
    stage.queue.transitions.settle(Retry("x", 1, "retry"))
    stage.admit("x")
    assert stage.told("x").complete
    with stage.database.writing() as connection:
        connection.execute(text("DELETE FROM transitions WHERE execution_id = 'x' AND verb = 'admit' AND attempt = 1"))
    told = stage.told("x")
    assert [each.wait.attempt for each in told.waits] == [2]
    assert not told.complete
