"""A wrapper of ``group.run()`` that checks all messages of a group before it sends the first one.

Dramatiq enqueues a group's messages one by one and has no hook around that. So its `run` is wrapped, which changes only
brokers that pull their lanes. If a message is invalid, or a lane has no room for all of them, nothing is sent. Some
refusals show only when a message is sent: its id is taken, or others have just filled the lane. Then that message is
refused and the others are sent. If the process dies here, the executions parked until then wait.
"""

import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

from dramatiq import Message, group

from ..scheduler.engine.grants import Parked
from ..scheduler.engine.parking import Candidate
from ..scheduler.model.errors import (
    DuplicateExecution,
    OnAnotherShard,
    QueueFull,
    QueueRejected,
    QueueUnavailable,
    UserLimitExceeded,
)
from ..scheduler.views import Views
from .grants.context import is_settling
from .intake.envelope import copied
from .shards.sharded_broker import ShardedBroker

Given = tuple["Message[Any]", "int | None"]
"""A message and its delay."""


class Groups:
    """The groups of one broker. Safe to share between threads."""

    def __init__(self, broker: ShardedBroker) -> None:
        self._broker = broker
        self._local = threading.local()

    def take(self, message: "Message[Any]", delay: int | None) -> bool:
        """Keep a message until the end of the group that this thread runs; False if it runs none."""
        taken: list[Given] | None = getattr(self._local, "taken", None)
        if taken is not None:
            taken.append((message, delay))
        return taken is not None

    @contextmanager
    def whole(self) -> Generator[None]:
        """A context that keeps this thread's messages, and checks and then sends them at its end.

        Raises:
            QueueRejected: If a message is refused; if these checks refused it, nothing was sent.
            QueueUnavailable: If Redis did not answer.
        """
        if is_settling() or getattr(self._local, "taken", None) is not None:
            yield  # a hook's messages are sent as usual; an inner group's messages join those of the outer group
            return
        taken: list[Given] = []
        self._local.taken = taken
        try:
            yield
        finally:
            del self._local.taken
        self._send(taken)

    def _send(self, taken: list[Given]) -> None:
        broker = self._of_one_shard(taken)
        listed = [each for each in taken if each[0].actor_name not in broker.bands.gated]
        gated = [(copied(message), delay) for message, delay in taken if message.actor_name in broker.bands.gated]
        broker.bounds.put_down({message.queue_name for message, _ in gated})
        place_of: dict[int, int] = {}
        with broker.bands.gathering() as candidates:
            for index, (message, delay) in enumerate(gated):
                known = len(candidates)
                broker.emit_before("enqueue", message, delay)
                # A hook may have added other candidates; a retry of this thread's own message adds none.
                if len(candidates) > known:
                    place_of[index] = len(candidates) - 1
        check_room(broker.queue.views, candidates)
        outcomes = self._park(broker, candidates)
        named = ["execution_id" in message.options for message, _ in taken if message.actor_name in broker.bands.gated]
        for index, (message, delay) in enumerate(gated):
            outcome = outcomes[place_of[index]] if index in place_of else None
            if isinstance(outcome, DuplicateExecution):
                outcome = broker.bands.send_again(broker, message, delay, outcome, is_named=named[index])
                outcomes[place_of[index]] = outcome
            if outcome is not None and not isinstance(outcome, QueueRejected):
                broker.emit_after("enqueue", message, delay)
        for message, delay in listed:
            broker.enqueue(message, delay=delay)
        for outcome in outcomes:
            if isinstance(outcome, QueueRejected):
                raise outcome

    def _of_one_shard(self, taken: list[Given]) -> ShardedBroker:
        """Return the broker whose server takes all gated messages; no check holds over two.

        Raises:
            OnAnotherShard: If they are not all of one server; nothing was sent.
        """
        broker = self._broker
        if broker.shards is None:
            return broker
        gated = [message for message, _ in taken if message.actor_name in broker.bands.gated]
        brokers = {each.shard: each for each in (broker.shards.of(message, broker) for message in gated)}
        if len(brokers) > 1:
            raise OnAnotherShard(
                f"the group's messages are of shards {', '.join(sorted(brokers))}, and are not accepted together: send "
                "a group for each"
            )
        return next(iter(brokers.values()), broker)

    def _park(
        self, broker: ShardedBroker, candidates: Sequence[Candidate]
    ) -> "list[Parked | Message[Any] | QueueRejected]":
        try:
            return [*broker.queue.transitions.park_many(candidates)]
        except QueueUnavailable:
            broker.bands.unsure.add(each.execution_id for each in candidates)
            raise


def check_room(views: Views, candidates: Sequence[Candidate]) -> None:
    """Check that all candidates may wait.

    Raises:
        QueueFull: If a lane has no room for so many.
        UserLimitExceeded: If a user may not have so many waiting.
        QueueUnavailable: If Redis did not answer.
    """
    lanes = sorted({each.lane for each in candidates})
    for status in views.status_of(lanes) if lanes else ():
        mine = [each for each in candidates if each.lane == status.lane]
        limit = status.settings["max_queue_size"]
        if limit is not None and status.queue_depth + status.scheduled_count + len(mine) > limit:
            raise QueueFull(execution_id=mine[0].execution_id, limit=int(limit), together=len(mine))
        allowed = status.settings["max_executions_per_user"]
        counts = Counter(each.user_id for each in mine if each.user_id is not None)
        if allowed is None or not counts:
            continue
        for (user_id, count), queued in zip(counts.items(), views.queued_of(status.lane, [*counts]), strict=True):
            if queued + count > allowed:
                first = next(each for each in mine if each.user_id == user_id)
                raise UserLimitExceeded(execution_id=first.execution_id, user_id=user_id, limit=int(allowed))


_run_one_by_one: Any = cast("Any", group).run


@wraps(_run_one_by_one)
def _run(self: Any, *, delay: int | None = None) -> Any:
    if not getattr(self.broker, "pulls_lanes", False):
        return _run_one_by_one(self, delay=delay)
    with self.broker.groups.whole():
        return _run_one_by_one(self, delay=delay)


cast("Any", group).run = _run
