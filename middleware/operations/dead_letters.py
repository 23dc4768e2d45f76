"""Runs a dead letter again: accepts the same event or message under a new id.

In the flow: the command `dead retry` calls this, and then drops the letter; if the process dies in between, both exist.
A message that was refused as invalid (a gate or an argument that is not allowed) has to be checked again, which only a
process that knows its actor can do. So it goes into the Dramatiq list of its queue, like a plain producer's message,
and a worker parks it, or keeps it as a dead letter with the reason.
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import DecodeError

from ...scheduler.engine.record import read_raised
from ...scheduler.engine.transitions import Candidate
from ...scheduler.events import ExecutionRequestedEvent
from ...scheduler.model.errors import InvalidRequest, NotRunnable
from ...scheduler.queue import ExecutionQueueService
from ..intake.burial import LEFT_OUT
from ..intake.execution_ids import delivery_of, derived_id

_OF_ONE_TRY: Final = frozenset({"retries", "traceback", "eta", "requeue_timestamp", "redis_message_id", "execution_id"})
"""Options that hold a message's earlier tries and its execution id."""
CHECKED_SECONDS: Final = 5.0
"""How long to wait for workers to check messages that were put into lists."""
POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class Again:
    """The execution that was accepted in place of a dead letter."""

    letter: str
    execution_id: str
    lane: str
    position: int | None
    """Its position in its lane; None: a worker of the lane has to check it first."""

    def as_json(self) -> dict[str, object]:
        """Return the fields for JSON output."""
        return {"execution_id": self.letter, "new_execution_id": self.execution_id, "position": self.position}

    def __str__(self) -> str:
        where = f"once a worker of lane {self.lane} has checked it"
        where = where if self.position is None else f"position {self.position}"
        return f"{self.letter} again as {self.execution_id}, {where}"


def accept_again(queue: ExecutionQueueService, broker: RedisBroker, letter: str, *, by: str | None = None) -> Again:
    """Accept a dead letter's event or message again; the letter itself stays.

    Args:
        queue: The queue.
        broker: Puts a message that has to be checked into its list.
        letter: The id of the dead letter.
        by: Who asks, for the journal.

    Raises:
        NotRunnable: If it cannot be run again.
        QueueRejected: If it is refused.
        QueueUnavailable: If Redis did not answer.
    """
    meta = queue.views.meta(letter)
    event, message = queue.views.event(letter), queue.views.message(letter)
    if not meta or (event is None and message is None):
        raise NotRunnable(
            f"{letter} has nothing left to run: dropped or tried again meanwhile? "
            f"If `bandmaster dead` lists it still, `bandmaster dead drop {letter}` forgets it"
        )
    # The id is derived from this one end: two callers at the same time get the same id, so it is accepted once.
    new_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"dead retry {letter} {meta['ended_at']}"))
    try:
        if meta.get("reason") == InvalidRequest.code and message is not None:
            return Again(letter, _listed_again(broker, letter, message), meta["lane"], None)
        queue.transitions.park(_candidate_again(meta, new_id, event, message), by=by)
        return Again(letter, new_id, meta["lane"], queue.explain(new_id).position or 0)
    except (InvalidRequest, DecodeError) as error:
        raise NotRunnable(f"{letter} cannot be run again: {error}") from None


def refused_again(queue: ExecutionQueueService, listed: Sequence[Again]) -> dict[str, str]:
    """Wait for a while until workers have checked the messages that were put into lists.

    Returns:
        The reason of refusal by execution id.
    """
    ends = time.monotonic() + CHECKED_SECONDS
    refused: dict[str, str] = {}
    unseen = [each.execution_id for each in listed]
    while unseen and time.monotonic() < ends:
        metas = dict(zip(unseen, queue.views.metas(unseen), strict=True))
        unseen = [one for one, meta in metas.items() if not meta]
        for one, meta in metas.items():
            if meta.get("reason") == InvalidRequest.code:
                raised = read_raised(queue.views, one)
                refused[one] = meta["reason"] if raised is None else raised.exception
        if unseen:
            time.sleep(POLL_SECONDS)
    return refused


def _listed_again(broker: RedisBroker, letter: str, raw: bytes) -> str:
    """Put a message into its queue's list; return the id that it will have, whether it is parked or refused."""
    message = _message_again(raw)
    if message.options.get(LEFT_OUT):
        raise NotRunnable(f"{letter} cannot be run again: its arguments could not be kept")
    listed = cast("dramatiq.Message[Any]", broker.enqueue(message))
    return derived_id(listed.message_id, delivery_of(listed))


def _candidate_again(meta: dict[str, str], new_id: str, event: bytes | None, message: bytes | None) -> Candidate:
    return Candidate(
        execution_id=new_id,
        lane=meta["lane"],
        band=int(meta["band"]),
        action=meta["action"],
        user_id=meta.get("user"),
        gates=tuple(meta.get("gates", "").splitlines()),
        timeout_ms=int(meta.get("timeout_ms", 0)),
        max_age_ms=int(meta["expires_at"]) - int(meta["accepted_at"]) if "expires_at" in meta else None,
        event=b"" if event is None else _event_again(event, new_id),
        message=b"" if message is None else _message_again(message, execution_id=new_id).encode(),
    )


def _event_again(raw: bytes, new_id: str) -> bytes:
    return ExecutionRequestedEvent.from_json(raw).model_copy(update={"execution_id": new_id}).to_json()


def _message_again(raw: bytes, **options: str) -> "dramatiq.Message[Any]":
    old = cast("dramatiq.Message[Any]", dramatiq.Message.decode(raw))
    kept = {name: value for name, value in old.options.items() if name not in _OF_ONE_TRY}
    return dramatiq.Message(
        queue_name=old.queue_name, actor_name=old.actor_name, args=old.args, kwargs=old.kwargs, options=kept | options
    )
