"""Parks many messages of one shard together, a hundred a round trip, each accepted or refused on its own.

In the flow: `BandedRedisBroker.send_many`. If the process dies here, some of them were accepted, and are duplicates if
they are sent again.
"""

from typing import Any, cast

from dramatiq import Message

from ...scheduler.model.errors import DuplicateExecution, NotUnique, QueueRejected
from ..intake.dropping import drop
from ..intake.envelope import copied
from .sharded_broker import ShardedBroker


def send_together(
    broker: ShardedBroker, messages: "list[Message[Any]]", delay: int | None
) -> "list[Message[Any] | QueueRejected]":
    """Send messages of one shard.

    Returns:
        One result for each message, in order: the message as `enqueue` returns it, or the reason of its refusal.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    results: list[Message[Any] | QueueRejected] = []
    parked: dict[int, int] = {}
    broker.bounds.put_down({each.queue_name for each in messages if each.actor_name in broker.bands.gated})
    with broker.bands.bulk() as parking:
        for message in messages:
            try:
                if broker.bands.takes(message):
                    sent, known = copied(message), len(parking)
                    broker.emit_before("enqueue", sent, delay)
                    # A hook may have added other candidates; a retry of this thread's own message adds none.
                    if len(parking) > known:
                        parked[len(results)] = len(parking) - 1
                    results.append(sent)
                else:
                    results.append(broker.enqueue_here(message, delay))
            except QueueRejected as rejection:
                results.append(rejection)
        outcomes = parking.finish()
    for index, result in enumerate(results):
        outcome = outcomes[parked[index]] if index in parked else None
        if isinstance(outcome, DuplicateExecution):
            sent, is_named = cast("Message[Any]", result), "execution_id" in messages[index].options
            outcome = broker.bands.send_again(broker, sent, delay, outcome, is_named=is_named)
        if isinstance(outcome, NotUnique) and outcome.is_dropped:
            drop(broker, cast("Message[Any]", result), outcome)
        elif isinstance(outcome, QueueRejected):
            results[index] = outcome
        elif outcome is not None:
            broker.emit_after("enqueue", result, delay)
    return results
