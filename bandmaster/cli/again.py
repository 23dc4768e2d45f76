"""What is accepted in place of a dead letter: the same event or message under a new id, its earlier tries forgotten.

In the flow: `dead retry` parks it before it drops the letter. Nothing is written here.
"""

from typing import Any, Final, cast

import dramatiq
from dramatiq.errors import DecodeError

from bandmaster.cli.exits import CommandFailed
from bandmaster.scheduler.errors import InvalidRequest
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.identifiers import new_execution_id
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transitions import Candidate

_OF_ONE_TRY: Final = frozenset({"retries", "traceback", "eta", "requeue_timestamp", "redis_message_id"})
"""Options in which a message remembers its earlier tries."""


def again_of(queue: ExecutionQueueService, execution_id: str) -> Candidate:
    """What is accepted in place of a dead letter."""
    meta, new_id = queue.views.meta(execution_id), new_execution_id()
    event, message = queue.views.event(execution_id), queue.views.message(execution_id)
    if not meta or (event is None and message is None):
        raise CommandFailed(f"{execution_id} has nothing left to run: `bandmaster dead drop {execution_id}` forgets it")
    try:
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
            message=b"" if message is None else _message_again(message, new_id),
        )
    except (InvalidRequest, DecodeError) as error:
        raise CommandFailed(f"{execution_id} cannot be run again: {error}") from None


def _event_again(raw: bytes, new_id: str) -> bytes:
    return ExecutionRequestedEvent.from_json(raw).model_copy(update={"execution_id": new_id}).to_json()


def _message_again(raw: bytes, new_id: str) -> bytes:
    old = cast("dramatiq.Message[Any]", dramatiq.Message.decode(raw))
    options = {name: value for name, value in old.options.items() if name not in _OF_ONE_TRY}
    again: dramatiq.Message[Any] = dramatiq.Message(
        queue_name=old.queue_name,
        actor_name=old.actor_name,
        args=old.args,
        kwargs=old.kwargs,
        options=options | {"execution_id": new_id},
    )
    return again.encode()
