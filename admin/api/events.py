"""What happens, as it happens, as server-sent events.

In the flow: each process reads the journal once for all its followers. An owner sees what happens to its own
executions, an operator everything. A token that is revoked, or a session that ends, ends its streams within seconds.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Header
from fastapi.responses import StreamingResponse

from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..events.hub import Sees
from ..events.told import Told, read_event_id
from .requiring import ReadCaller, ServicesOf
from .streams import EventStream, stream_of

router: Final = APIRouter()
_STREAM: Final = stream_of("Events: `id`, `event` (the verb) and `data` (JSON). `reset`: load everything anew.")


@router.get("/events", summary="Follow what happens", response_class=StreamingResponse, responses=_STREAM)
async def follow_events(
    services: ServicesOf,
    caller: ReadCaller,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was got.")] = None,
) -> StreamingResponse:
    """From now on, or after the last event that was got, if that is at most 10,000 entries ago; else `reset` comes
    first. Operators see everything, others what happens to their own executions."""
    after = None if last_event_id is None else read_event_id(last_event_id)
    stream = services.hub.follow(caller.token.token_id, _sees(caller), after)
    # Before the answer begins, so that an error is an answer.
    await anext(stream)
    return EventStream(stream, services, caller)


def _sees(caller: Caller) -> Sees:
    if caller.token.may(Scope.OPERATE):
        return _everything
    owner = caller.token.owner
    return lambda entry: entry.frame_of_owner if entry.user_id == owner else b""


def _everything(entry: Told) -> bytes:
    return entry.frame
