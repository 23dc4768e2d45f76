"""Opens the queue for a command: settings, a short wait for the server, the service, and on request the pods.

In the flow: the first step of every command except `up`, after it has checked its arguments. The wait is short, since a
person is waiting too; the error says how to start a server. Everything is closed when the command ends.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis
from dramatiq.brokers.redis import RedisBroker
from redis.exceptions import NoPermissionError

from bandmaster.cli.address import url_of
from bandmaster.cli.diagnosis import diagnosis
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.typed import TYPED
from bandmaster.configs.logging import configure_logging
from bandmaster.configs.settings import Settings, load_settings, sections
from bandmaster.configs.shards import DEFAULT
from bandmaster.configs.unread import warn_of_unknown
from bandmaster.k8s.backend import connect as connect_pods
from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import QueueUnavailable, shown
from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import connect, redis_url
from bandmaster.scheduler.server.eviction import eviction_policy
from bandmaster.scheduler.views import LIVE_CONSUMER_MS

WAIT_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server's description of itself."""

    kind: str
    version: str
    eviction_policy: str | None
    """The policy by which it may evict keys; None if it evicts none, or does not say."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The opened queue of a command."""

    settings: Settings
    client: redis.Redis
    queue: ExecutionQueueService

    def pods(self) -> Pods:
        """The pods of the configured backend; nothing is connected yet."""
        settings = self.settings
        return connect_pods(
            settings.k8s.backend, root=settings.paths.absolute, local=settings.local, cluster=settings.k8s
        )

    def dramatiq_broker(self) -> RedisBroker:
        """A broker to send messages to workers, by the actor's name."""
        return RedisBroker(client=self.client, namespace=self.settings.redis.dramatiq_namespace, middleware=[])

    def missing_worker(self, lane: str | None = None) -> str | None:
        """A warning if no worker has lately asked for a lane, by default for the lane of executions; else None."""
        name = lane or self.queue.lane
        return warning_of_missing(name, self.queue.views.asked_ms_ago(name))

    def server(self) -> Server:
        """Read the server's description of itself."""
        try:
            info = self.client.info("server")
        except NoPermissionError:  # such a user needs no right to it for the queue
            info = dict[str, Any]()
        kind = str(info.get("server_name", "redis"))
        version = str(info.get(f"{kind}_version", info.get("redis_version", "unknown")))
        return Server(kind, version, eviction_policy(self.client))


def warning_of_missing(lane: str, asked_ms_ago: int | None) -> str | None:
    """A warning if no worker has lately asked for a lane; else None."""
    if asked_ms_ago is not None and asked_ms_ago <= LIVE_CONSUMER_MS:
        return None
    since = "yet" if asked_ms_ago is None else f"for {asked_ms_ago // 1000} s"
    start = "start one with `bandmaster up`" if lane == DEFAULT_LANE else "start its application's worker"
    return f"no worker has asked for lane {lane} {since}: {start}"


def settings_anywhere() -> Settings:
    """Load the settings and configure logging; warn of environment variables with our prefix that are no settings.

    Raises:
        SettingsError: If a setting is wrong.
    """
    settings = load_settings()
    configure_logging(settings.logging)
    warn_of_unknown(sections())
    named = TYPED.get().shard
    if named is None:
        return settings
    known = (DEFAULT, *settings.shards.servers)
    if named not in known:
        raise WrongUsage(f"--shard: there is no shard {shown(named)}; allowed: {', '.join(known)}")
    if url_of(settings) is not None:
        raise WrongUsage("--shard is for commands beside Redis: an API is that of one shard, so name its address")
    return settings.of_shard(named)


def settings_of_command() -> Settings:
    """The same, for a command that works beside Redis only.

    Raises:
        SettingsError: If a setting is wrong.
        WrongUsage: If the command was sent to an API, or there are several servers and none is named.
    """
    settings = settings_anywhere()
    if url_of(settings) is not None:
        raise WrongUsage(
            "this works beside Redis or the database only, and not through the API: leave out --url, and unset "
            "BANDMASTER_API__URL"
        )
    return of_one_server(settings)


def of_one_server(settings: Settings) -> Settings:
    """Return the settings, which are those of one server.

    Raises:
        WrongUsage: If there are several servers and none is named.
    """
    if settings.shards.servers:
        names = " or ".join((DEFAULT, *settings.shards.servers))
        raise WrongUsage(f"this belongs to one server: name its shard before the command, --shard {names}")
    return settings


@contextmanager
def opened() -> Generator[Opened]:
    """Open the queue until the command has ended, for one that works beside Redis only.

    Raises:
        SettingsError: If a setting is wrong.
        WrongUsage: If the command was sent to an API.
        QueueUnavailable: If the server does not answer; says why, and what to do.
    """
    with opened_with(settings_of_command()) as bandmaster:
        yield bandmaster


@contextmanager
def opened_with(settings: Settings) -> Generator[Opened]:
    """Open the queue that these settings name.

    Raises:
        SettingsError: If the server's URL is wrong.
        QueueUnavailable: If the server does not answer; says why, and what to do.
    """
    redis_url(settings)
    try:
        client = connect(settings, wait_seconds=WAIT_SECONDS, name="bandmaster-cli")
    except QueueUnavailable as error:
        raise diagnosis(settings, error) from error
    with client:
        yield opened_on(settings, client)


def opened_on(settings: Settings, client: redis.Redis) -> Opened:
    """Open the queue on a server that has answered."""
    queue = ExecutionQueueService(
        client,
        prefix=settings.redis.prefix,
        deadline_seconds=settings.redis.deadline_seconds,
        by=user_at_host(),
    )
    return Opened(settings, client, queue)
