"""``Shards``: all shards of an installation, for an API that works on one of them.

In the flow: `GET /shards` asks for their figures, and whoever asked for an execution that the API's own server does not
know is told which other one does. All are asked at once under one deadline, in threads apart from those of the
routes, and whoever asks meanwhile gets the same answer: a server that hangs holds up neither the other shards nor the
other routes. Nothing is connected before it is asked, and only reads are.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from ...configs.redaction import redacted_url
from ...configs.settings import Settings
from ...configs.shards import BANDS, DEFAULT
from ...scheduler.model.errors import QueueUnavailable
from ...scheduler.queue import ExecutionQueueService
from ...scheduler.server.connection import client_of, redis_url
from ...scheduler.shards.asking import Answers, ask_all
from ...scheduler.transport.scripts import DEADLINE_SECONDS
from ..errors import Refused, busy
from ..lookups import Lookups
from .figures import ShardFigures, figures_of

FIND_SECONDS: Final = 1.0
"""How long the others have to say whether they know an execution."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard: what lives there, and how it is asked."""

    bands: tuple[str, ...]
    """The bands that are there, of all lanes that no shard claims."""
    lanes: tuple[str, ...]
    """The lanes that it claims; none of `default`, which has all that no other one claims."""
    url: str
    """Of its server, without a password."""
    queue: Callable[[], ExecutionQueueService]
    """Its queue; nothing is sent by this."""
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the shards told, and when they were asked."""

    answers: Answers[ShardFigures]
    asked_ms: int
    """Unix milliseconds, by this machine's clock: each server has a clock of its own."""


class Shards:
    """All shards, `default` first. Safe to share between threads."""

    def __init__(self, shards: Mapping[str, Shard], *, own: str, deadline_seconds: float) -> None:
        """Makes no call.

        Args:
            shards: Each by its name.
            own: The one that the API works on.
            deadline_seconds: How long all have for their figures.
        """
        self.shards: Final = dict(shards)
        self.own: Final = own
        self._deadline_seconds = deadline_seconds
        self._figures = Lookups(1, most=1, refusal=_too_many)
        self._finds = Lookups(4, most=16, refusal=_too_many, patience_seconds=FIND_SECONDS)

    @classmethod
    def alone(cls, queue: ExecutionQueueService, url: str = "") -> Self:
        """Return the one shard of an installation that has no others."""
        only = Shard(BANDS, (), redacted_url(url), lambda: queue, lambda: None)
        return cls({DEFAULT: only}, own=DEFAULT, deadline_seconds=DEADLINE_SECONDS)

    @classmethod
    def of(cls, settings: Settings, queue: ExecutionQueueService) -> Self:
        """Return all that the settings name.

        Args:
            settings: Of the process, which may be those of one shard alone.
            queue: That of its own shard.
        """
        whole = settings.whole
        servers = whole.shards.servers
        claimed = {band for each in servers.values() for band in each.bands}
        parts = {DEFAULT: (tuple(each for each in BANDS if each not in claimed), (), redis_url(whole))}
        parts |= {name: (each.bands, each.lanes, each.url) for name, each in servers.items()}
        own = settings.shards.only or DEFAULT
        shards = {
            name: Shard(bands, lanes, redacted_url(url), lambda: queue, lambda: None)
            if name == own
            else _other(bands, lanes, url, settings)
            for name, (bands, lanes, url) in parts.items()
        }
        return cls(shards, own=own, deadline_seconds=settings.redis.deadline_seconds)

    @property
    def others(self) -> dict[str, Shard]:
        """All but the API's own."""
        return {name: each for name, each in self.shards.items() if name != self.own}

    async def figures(self) -> Seen:
        """Ask all for their figures, once for all who ask meanwhile."""
        return await self._figures.run_once("figures", self._ask)

    async def records(self, execution_id: str) -> Answers[dict[str, str]]:
        """Ask the others for what they have of an execution; empty where one does not know it.

        Raises:
            Refused: If too many are asked for already.
        """
        return await self._finds.run_once(execution_id, self._look, execution_id)

    def close(self) -> None:
        """Close what was opened."""
        for each in self.shards.values():
            each.close()

    def _ask(self) -> Seen:
        asked_ms = time.time_ns() // 1_000_000
        answers = ask_all(self.shards, lambda each: figures_of(each.queue()), within_seconds=self._deadline_seconds)
        return Seen(answers, asked_ms)

    def _look(self, execution_id: str) -> Answers[dict[str, str]]:
        return ask_all(self.others, lambda each: each.queue().views.meta(execution_id), within_seconds=FIND_SECONDS)


def _other(bands: tuple[str, ...], lanes: tuple[str, ...], url: str, settings: Settings) -> Shard:
    redis = settings.redis

    @cache
    def queue() -> ExecutionQueueService:
        client = client_of(url, socket_timeout_seconds=redis.command_timeout_seconds, name="bandmaster-api")
        return ExecutionQueueService(client, prefix=redis.prefix, deadline_seconds=redis.deadline_seconds)

    def close() -> None:
        if queue.cache_info().currsize:
            with suppress(QueueUnavailable):
                queue().close()

    return Shard(bands, lanes, redacted_url(url), queue, close)


def _too_many() -> Refused:
    return busy("so many executions are looked for on other shards that no more can be")
