"""``AsyncWorking``: an `async with` block in which a robot works on an item; the same as `Working` otherwise."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

from ..answers.items import ClaimedItems
from .call import Call
from .errors import ApiError, BusinessException, WrongState
from .working import Held, held_of

Send = Callable[[Call[Any]], Awaitable[Any]]


class AsyncWorking:
    """One block, for one task."""

    def __init__(self, send: Send, claim: Call[ClaimedItems], robot_id: str | None) -> None:
        """Args: `send`, of the client; `claim`, what is taken; `robot_id`, for whom."""
        self._send = send
        self._claim = claim
        self._robot_id = robot_id
        self._held: Held | None = None
        self._renewing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Held | None:
        found: ClaimedItems = await self._send(self._claim)
        if not found.items:
            return None
        held = self._held = held_of(found.items[0], self._robot_id, self._claim)
        self._renewing = asyncio.create_task(self._renew(held))
        return held

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> bool:
        if self._held is None or self._renewing is None:
            return False
        self._renewing.cancel()
        # Not awaited itself: this task may be cancelled, too.
        await asyncio.wait([self._renewing])
        try:
            await self._send(self._held.outcome(error))
        except ApiError:
            if error is None:
                raise
        return isinstance(error, BusinessException)

    async def _renew(self, held: Held) -> None:
        while True:
            await asyncio.sleep(held.pause_seconds)
            try:
                await self._send(held.renewal())
            except WrongState:
                held.is_lost = True
                return
            except ApiError:
                continue
