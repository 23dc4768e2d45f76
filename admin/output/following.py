"""``Following``: one follower of what an execution prints, through its retries, until it has ended.

In the flow: it looks at the execution twice a second, and reads the pod of its attempt in a thread. A pod that is not
there yet, or a backend that does not answer, is asked again; one that may not be read is not. Once the execution has
ended, the end of the output that was kept stands for a pod that is gone or may not be read. A follower that comes again
goes on in the attempt where it stopped; if that is gone, it is told to begin anew. If Redis does not answer, the output
goes on. What was told is known to the follower alone, so nothing is lost if the process dies.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Final

from ...configs.logger import Logger
from ...k8s.errors import PodError, PodNotFound, PodsForbidden
from ...k8s.pods import Pods, pod_name
from ...ledger.errors import LedgerError
from ...scheduler.engine.record import Record, Result
from ...scheduler.model.errors import QueueUnavailable, UnknownExecution
from ..answers.following import AttemptTold, EndTold, StateTold, WithheldTold
from ..events.told import RESET
from .followers import Followers
from .reader import Reader
from .telling import Place, Teller, frame, kept_frames

_log = Logger(__name__)
LOOK_SECONDS: Final = 0.5


class Following:
    """One follower. To be used from one event loop."""

    def __init__(
        self,
        followers: Followers,
        pods: Callable[[], Pods],
        look: Callable[[], Record],
        result: Callable[[], Result | None],
        *,
        after: Place | None,
        tail_bytes: int | None,
    ) -> None:
        """Args:
        followers: All of the process.
        pods: The pods of the backend.
        look: Looks at the execution; refuses who may not read it.
        result: Reads its result.
        after: Where the follower stopped.
        tail_bytes: Begin so many bytes before the present end of the present attempt; None: at its beginning.
        """
        self._followers = followers
        self._pods = pods
        self._look = look
        self._result = result
        self._after = after
        self._tail_bytes = tail_bytes
        self._told: StateTold | None = None
        self._teller: Teller | None = None
        self._reader: Reader | None = None
        self._done = 0 if after is None else after.attempt - 1
        """The attempt up to which everything was told."""
        self._withheld = 0
        """The attempt whose pod may not be read: it is not asked for again before the execution has ended."""

    async def frames(self) -> AsyncGenerator[bytes]:
        """Yield events, and ``b""`` at least once a second; the first of them once it is known that it may be followed.

        Raises:
            UnknownExecution: If there is none, or the caller may not see it; and whatever else the first look raises.
        """
        record = await self._followers.looks.run(self._look)
        yield b""
        looking: asyncio.Task[Record] | None = None
        loop = asyncio.get_running_loop()
        looked_at = loop.time()
        try:
            while True:
                if looking is not None and looking.done():
                    looked_at = loop.time()
                    try:
                        record = looking.result()
                    except (QueueUnavailable, LedgerError):
                        pass  # What is known of it still serves.
                    except UnknownExecution:
                        return
                    looking = None
                yield self._anew(record) + self._state(record)
                if record.ended and self._reader is None and self._done >= record.attempt:
                    yield await self._end(record)
                    return
                yield await self._step(record)
                if looking is None and loop.time() - looked_at >= LOOK_SECONDS:
                    looking = asyncio.create_task(self._followers.looks.run(self._look))
        finally:
            if looking is not None:
                looking.cancel()
            if self._reader is not None:
                self._reader.close()

    def _anew(self, record: Record) -> bytes:
        """Begin anew if a later attempt was told of: a server with older data grants that again, as another one."""
        if record.attempt >= max(self._done, 0 if self._after is None else self._after.attempt):
            return b""
        self._done, self._after, self._teller = max(0, record.attempt - 1), None, None
        return RESET

    def _state(self, record: Record) -> bytes:
        told = StateTold(state=record.state, attempt=record.attempt)
        if told == self._told:
            return b""
        self._told = told
        return frame(told)

    async def _step(self, record: Record) -> bytes:
        """Tell of the next piece, or wait for it a moment."""
        begun = b""
        if self._reader is None:
            attempt = self._next(record)
            if attempt is None:
                await asyncio.sleep(LOOK_SECONDS)
                return begun
            begun += self._begin(record, attempt)
        assert self._reader is not None
        assert self._teller is not None
        try:
            piece = await self._reader.next(LOOK_SECONDS)
        except PodError as error:
            self._reader = None
            return begun + await self._not_read(record, self._teller, error)
        if piece is not None:
            return begun + self._teller.tell(piece)
        if self._reader.has_ended:
            self._reader = None
            self._done = self._teller.attempt
            return begun + self._teller.finish()
        return begun

    def _next(self, record: Record) -> int | None:
        if self._withheld == record.attempt and not record.ended:
            return None
        if self._after is not None and self._done < self._after.attempt <= record.attempt:
            return self._after.attempt
        is_there = record.pod is not None or record.ended
        return record.attempt if record.attempt > self._done and is_there else None

    def _begin(self, record: Record, attempt: int) -> bytes:
        is_new = self._teller is None or self._teller.attempt != attempt
        if is_new or self._teller is None:
            is_resumed = self._after is not None and self._after.attempt == attempt
            self._teller = Teller(attempt, self._after.position if self._after is not None and is_resumed else None)
        told_until = self._teller.told_until
        # What the follower asked to skip is the beginning of the first attempt that it hears of.
        tail_bytes = self._tail_bytes if told_until is None and self._done == 0 else None
        name = record.pod if record.pod is not None and attempt == record.attempt else None
        name = name or pod_name(record.execution_id, attempt)
        self._reader = self._followers.read(
            lambda closing: self._pods().follow(name, closing, after=told_until, tail_bytes=tail_bytes)
        )
        return frame(AttemptTold(attempt=attempt)) if is_new else b""

    async def _not_read(self, record: Record, teller: Teller, error: PodError) -> bytes:
        attempt, was_told = teller.attempt, bool(teller.told_until)
        if attempt < record.attempt and isinstance(error, PodNotFound | PodsForbidden):
            self._done = attempt
            return RESET
        if isinstance(error, PodsForbidden) and not record.ended:
            self._withheld = attempt
            _log.warning("output_withheld", execution_id=record.execution_id, attempt=attempt, problem=str(error))
            return frame(WithheldTold(attempt=attempt))
        if not record.ended:
            _log.debug("output_not_read", execution_id=record.execution_id, attempt=attempt, problem=str(error))
            await asyncio.sleep(LOOK_SECONDS)
            return b""
        self._done = attempt
        result = await self._kept()
        output = "" if result is None else result.output_tail
        if self._tail_bytes is not None:
            output = output.encode()[-self._tail_bytes :].decode(errors="ignore")
        return (RESET if was_told and output else b"") + kept_frames(attempt, output)

    async def _end(self, record: Record) -> bytes:
        result = await self._kept()
        exit_code = None if result is None else result.exit_code
        return frame(EndTold(state=record.state, attempt=record.attempt, reason=record.reason, exit_code=exit_code))

    async def _kept(self) -> Result | None:
        try:
            return await self._followers.looks.run(self._result)
        except (QueueUnavailable, LedgerError):
            return None
