"""``EventStream``: an answer of server-sent events that ends when its follower goes, its token does, or its process.

In the flow: routes give it what is to be sent, in pieces; ``b""`` stands for nothing, and comes at least once a second.
A follower that does not read holds up what is sent to it, and nothing is buffered beyond what the connection holds; so
whether it is to end is watched beside, and ends one that reads nothing, too.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, Final

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..auth.tokens import Caller
from ..events.told import ALIVE
from ..services import Services
from .standing import CHECKED_SECONDS, may_go_on

ALIVE_SECONDS: Final = 15.0
_LAST_SECONDS: Final = 1.0
"""How long one that reads nothing is waited for at the end."""


def stream_of(description: str) -> dict[int | str, dict[str, Any]]:
    """Return how the OpenAPI document tells of such an answer."""
    return {
        200: {"description": description, "content": {"text/event-stream": {"schema": {"type": "string"}}}},
    }


class EventStream(StreamingResponse):
    """One stream."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[bytes], services: Services, caller: Caller) -> None:
        """Args: `pieces`, begun already, so that an error is an answer; `caller`, who asked."""
        super().__init__(pieces)
        self._pieces = pieces
        self._services = services
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it until it ends."""
        sending = asyncio.create_task(self._send_all(send))
        tasks = (
            sending,
            asyncio.create_task(self._watch()),
            asyncio.create_task(self.listen_for_disconnect(receive)),
        )
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in tasks:
                each.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._pieces.aclose()
        if sending in done:
            sending.result()
        elif tasks[1] in done:
            try:
                async with asyncio.timeout(_LAST_SECONDS):
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            except TimeoutError:
                pass  # It reads nothing: the server cuts the connection.
        if self.background is not None:
            await self.background()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": ALIVE, "more_body": True})
        sent_at = loop.time()
        async for piece in self._pieces:
            now = loop.time()
            if piece or now - sent_at >= ALIVE_SECONDS:
                sent_at = now
                await send({"type": "http.response.body", "body": piece or ALIVE, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self) -> None:
        """Wait until it has to end."""
        while not self._services.closing.is_set():
            await asyncio.sleep(CHECKED_SECONDS)
            if not await may_go_on(self._services, self._caller):
                return
