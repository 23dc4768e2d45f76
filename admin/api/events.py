"""What happens, as it happens, as server-sent events.

In the flow: each process reads the journal once for all its followers. An owner sees what happens to its own
executions, an operator everything. A token that is revoked, or a session that ends, ends its streams within seconds.
"""

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse

from ..auth.scopes import Scope
from ..auth.tokens import Caller
from ..events.hub import Sees
from ..events.told import ALIVE, Told, read_event_id
from ..services import Services
from .requiring import ReadCaller, ServicesOf
from .standing import CHECKED_SECONDS, may_go_on

router: Final = APIRouter()
ALIVE_SECONDS: Final = 15.0
EVENT_STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Events: `id`, `event` (the verb) and `data` (JSON). `reset`: load everything anew.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/events", summary="Follow what happens", response_class=StreamingResponse, responses=EVENT_STREAM)
async def follow_events(
    request: Request,
    services: ServicesOf,
    caller: ReadCaller,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was got.")] = None,
) -> StreamingResponse:
    """From now on, or after the last event that was got, if that is at most 10,000 entries ago; else `reset` comes
    first. Operators see everything, others what happens to their own executions."""
    after = None if last_event_id is None else read_event_id(last_event_id)
    stream = services.hub.follow(_sees(caller), after)
    # Before the answer begins, so that an error is an answer.
    await anext(stream)
    return StreamingResponse(_checked(stream, request, services, caller), media_type="text/event-stream")


async def _checked(
    stream: AsyncGenerator[bytes], request: Request, services: Services, caller: Caller
) -> AsyncGenerator[bytes]:
    """The stream, as long as its token is valid and the process does not end."""
    checked_at = sent_at = time.monotonic()
    try:
        yield ALIVE
        async for piece in stream:
            now = time.monotonic()
            # What is sent to nobody would tell so only with the next event.
            if services.closing.is_set() or (not piece and await request.is_disconnected()):
                return
            if now - checked_at >= CHECKED_SECONDS:
                checked_at = now
                if not await may_go_on(services, caller):
                    return
            if piece:
                yield piece
                sent_at = now
            elif now - sent_at >= ALIVE_SECONDS:
                yield ALIVE
                sent_at = now
    finally:
        await stream.aclose()


def _sees(caller: Caller) -> Sees:
    if caller.token.may(Scope.OPERATE):
        return _everything
    owner = caller.token.owner
    return lambda entry: entry.frame_of_owner if entry.user_id == owner else b""


def _everything(entry: Told) -> bytes:
    return entry.frame
