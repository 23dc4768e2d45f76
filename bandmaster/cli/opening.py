"""Opening the queue for a command: settings, a short wait for the server, the service, and the pods when asked for.

In the flow: the first thing every command does but `up`, after it has checked what was typed. The wait is short, since
somebody sits in front of it; the error says how to start a server. Nothing is kept open behind the command's end.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import redis

from bandmaster.configs.logging import configure_logging
from bandmaster.configs.settings import Settings, load_settings
from bandmaster.k8s.backend import connect as connect_pods
from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.connection import connect, embedded_socket, redis_url
from bandmaster.scheduler.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService

WAIT_SECONDS: Final = 2.0
LIVE_CONSUMER_MS: Final = 5_000
"""A lane for which no worker has asked for this long has none that is free; the scripts count the same way."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The queue as a command has it."""

    settings: Settings
    client: redis.Redis
    queue: ExecutionQueueService

    def pods(self) -> Pods:
        """The pods of the configured backend; nothing is connected yet."""
        settings = self.settings
        return connect_pods(settings.k8s.backend, root=settings.paths.absolute, cluster=settings.k8s)

    def missing_worker(self) -> str | None:
        """A sentence if no worker has asked for the lane lately."""
        asked = self.queue.views.asked_ms_ago(self.queue.lane)
        if asked is not None and asked <= LIVE_CONSUMER_MS:
            return None
        since = "yet" if asked is None else f"for {asked // 1000} s"
        return f"no worker has asked for lane {self.queue.lane} {since}: start one with `bandmaster up`"

    def server(self) -> dict[str, str]:
        """The server's kind and version."""
        info = self.client.info("server")
        kind = str(info.get("server_name", "redis"))
        return {"kind": kind, "version": str(info.get(f"{kind}_version", info.get("redis_version", "unknown")))}


@contextmanager
def opened() -> Generator[Opened]:
    """The queue, open until the command has ended.

    Raises:
        SettingsError: If a setting is wrong.
        QueueUnavailable: If the server does not answer; says how to start it.
    """
    settings = load_settings()
    configure_logging(settings.logging)
    redis_url(settings)
    try:
        client = connect(settings, wait_seconds=WAIT_SECONDS, name="bandmaster-cli")
    except QueueUnavailable as error:
        if settings.redis.url is not None:
            raise
        raise QueueUnavailable(
            f"no server runs for this folder (no answer at {embedded_socket(settings)}): start everything with "
            f"`bandmaster up`, or name a server with BANDMASTER_REDIS__URL"
        ) from error
    with client:
        yield Opened(settings, client, ExecutionQueueService(client, prefix=settings.redis.prefix))
