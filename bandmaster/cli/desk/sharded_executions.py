"""``ShardedExecutions``: executions beside several servers.

In the flow: one side of `port.Executions`. All servers are asked at once and under one deadline each; what one of them
does not answer is told, and the rest is shown. An execution is sent to the shard of its band, and stays there: a
command that dies between two calls leaves what each of them made.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from bandmaster.cli.desk.queue_executions import QueueExecutions
from bandmaster.cli.desk.queue_figures import QueueFigures
from bandmaster.cli.desk.queue_output import QueueOutput
from bandmaster.cli.desk.told import Listed, Moved, Read, Refusal, Shown
from bandmaster.cli.notes import note
from bandmaster.scheduler.engine.grants import Cancellation, Parked
from bandmaster.scheduler.engine.record import Record, Result
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import AmbiguousExecution, QueueUnavailable, UnknownExecution, shown
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.selecting import Wanted
from bandmaster.scheduler.shards.asking import Answers, ask_all, shard_of, told_away
from bandmaster.scheduler.shards.mapping import ShardMap

A = TypeVar("A")
AGAIN_SECONDS: Final = 30.0
"""A shard that was away is asked again after so long."""


@dataclass(frozen=True, slots=True)
class Part:
    """What there is of one shard."""

    executions: QueueExecutions
    figures: QueueFigures
    output: QueueOutput


class ShardedExecutions:
    """Executions of all shards."""

    reads_a_second = QueueExecutions.reads_a_second

    def __init__(self, parts: dict[str, Part], shards: ShardMap) -> None:
        self._parts = {name: each.executions for name, each in parts.items()}
        self._map = shards
        self._where: dict[str, str] = {}
        self._away: dict[str, str] = {}
        self._told_away: set[str] = set()
        self._asked_again_at = 0.0

    def _ask(self, question: Callable[[QueueExecutions], A]) -> Answers[A]:
        """Ask every shard but those that were just away: a command asks several times, and would wait each time."""
        if time.monotonic() >= self._asked_again_at:
            self._away, self._asked_again_at = {}, time.monotonic() + AGAIN_SECONDS
        asked = {name: each for name, each in self._parts.items() if name not in self._away}
        answers = ask_all(asked, question)
        self._away |= answers.away
        return Answers(answers.found, {**self._away})

    def _say_away(self) -> None:
        for name in self._away.keys() - self._told_away:
            note(f"shard {name} is away, and nothing of it is shown: {self._away[name]}")
        self._told_away |= self._away.keys()

    def now_ms(self) -> int:
        """The time of the first server that answers."""
        return self._ask(lambda each: each.now_ms()).one()

    def find(self, typed: str) -> str:
        """The id that was meant, by itself or by its beginning, on whatever shard."""

        def find(each: QueueExecutions) -> list[str]:
            try:
                return [each.find(typed)]
            except UnknownExecution:
                return []
            except AmbiguousExecution as error:
                return error.found

        answers = self._ask(find)
        found = [(one, name) for name, ids in answers.found.items() for one in ids]
        if not found and answers.away:
            there = f"not found on {', '.join(answers.found)}; " if answers.found else ""
            raise QueueUnavailable(f"execution {shown(typed)}: {there}{told_away(answers.away)}")
        if not found:
            raise UnknownExecution(execution_id=typed)
        if len(found) > 1:
            raise AmbiguousExecution(typed=typed, found=[one for one, _ in found])
        self._where[found[0][0]] = found[0][1]
        return found[0][0]

    def shard_of(self, execution_id: str) -> str:
        """The shard on which an execution is."""
        known = self._where.get(execution_id)
        if known is None:
            known = shard_of(self._parts, execution_id, lambda each: bool(each.records([execution_id])))
            self._where[execution_id] = known
        return known

    def listed(self, group: str, wanted: Wanted, most: int) -> Listed:
        """The first executions of a group that pass the filters, of each shard in turn."""
        answers = self._ask(lambda each: each.listed(group, wanted, most))
        answers.one()
        self._say_away()
        self._note({name: each.records for name, each in answers.found.items()})
        records = [record for each in answers.found.values() for record in each.records]
        more = len(records) > most or any(each.more for each in answers.found.values())
        return Listed(records[:most], more, {one.execution_id: self._where[one.execution_id] for one in records[:most]})

    def every(self, group: str, wanted: Wanted) -> list[Record]:
        """All of them; raises QueueUnavailable if a shard does not answer: whoever changes all wants all."""
        found = self._ask(lambda each: each.every(group, wanted)).all()
        self._note(found)
        return [record for records in found.values() for record in records]

    def shown(self, execution_id: str) -> Shown:
        """All that is told of one."""
        return self._at(execution_id).shown(execution_id)

    def records(self, execution_ids: Sequence[str]) -> dict[str, Record]:
        """The records of those that are known, in order."""
        answers = self._ask(lambda each: each.records(execution_ids))
        answers.one()
        found = {one: record for records in answers.found.values() for one, record in records.items()}
        return {one: found[one] for one in execution_ids if one in found}

    def result(self, execution_id: str) -> Result | None:
        """Its stored result."""
        return self._at(execution_id).result(execution_id)

    def pod_waits_for(self, record: Record) -> str:
        """What its pod waits for, in the backend's words; empty: nothing, or it is not known."""
        return self._at(record.execution_id).pod_waits_for(record)

    def submit(self, events: Sequence[ExecutionRequestedEvent]) -> Iterator[Parked | Refusal]:
        """Send each to the shard of its priority, those that follow each other on one shard together."""
        start = 0
        while start < len(events):
            name = self._map.of(DEFAULT_LANE, events[start].priority)
            end = start + 1
            while end < len(events) and self._map.of(DEFAULT_LANE, events[end].priority) == name:
                end += 1
            yield from self._parts[name].submit(events[start:end])
            start = end

    def cancel(self, execution_id: str, reason: str) -> Cancellation:
        """End one that waits; ask one that runs to end."""
        return self._at(execution_id).cancel(execution_id, reason)

    def move(self, execution_id: str, band: Priority) -> Moved:
        """Move one that waits to another priority; raises OnAnotherShard if that is on another server."""
        shard = self.shard_of(execution_id)
        record = self._parts[shard].records([execution_id]).get(execution_id)
        self._map.check_move(execution_id, DEFAULT_LANE if record is None else record.lane, band, shard=shard)
        return self._parts[shard].move(execution_id, band)

    def _at(self, execution_id: str) -> QueueExecutions:
        return self._parts[self.shard_of(execution_id)]

    def _note(self, found: dict[str, list[Record]]) -> None:
        for name, records in found.items():
            self._where |= {record.execution_id: name for record in records}


class ShardedOutput:
    """What executions of all shards print."""

    is_raw = QueueOutput.is_raw
    is_followed = QueueOutput.is_followed

    def __init__(self, parts: dict[str, Part], executions: ShardedExecutions) -> None:
        self._parts = parts
        self._executions = executions

    def reads(self, execution_id: str, tail_bytes: int | None, *, follow: bool) -> Iterator[Read]:
        """The output of the latest attempt, from its shard."""
        yield from self._parts[self._executions.shard_of(execution_id)].output.reads(
            execution_id, tail_bytes, follow=follow
        )
