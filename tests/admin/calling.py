"""Serves the API for a test, as the process does, and calls it over HTTP with tokens of each scope.

The tests of a process share one server and its routes (``SharedServer``); queue, ledger and all that an API keeps in
memory are a test's own, so that each begins with cold caches. A test about the server itself, or one that needs two,
starts its own (``api_on``, ``api_with``).
"""

import asyncio
import base64
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import redis
import uvicorn
from dramatiq.brokers.redis import RedisBroker
from fastapi import FastAPI
from ledger_reading import catch_up
from pydantic import SecretStr

from bandmaster.admin.api import cookies
from bandmaster.admin.application import build, guarded
from bandmaster.admin.auth.browser_sessions import BrowserSessions
from bandmaster.admin.auth.firing_tokens import FiringTokens
from bandmaster.admin.auth.item_keys import ItemKeys
from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.making import new_token
from bandmaster.admin.auth.scopes import read_scopes
from bandmaster.admin.auth.secrets import Secret
from bandmaster.admin.auth.token_table import TokenTable
from bandmaster.admin.auth.tokens import Token
from bandmaster.admin.events.hub import Hub
from bandmaster.admin.ledger_watch import LedgerWatch
from bandmaster.admin.quotas.quotas import Quotas
from bandmaster.admin.rates import Rates
from bandmaster.admin.services import Services
from bandmaster.admin.shards.shards import Shards
from bandmaster.configs.api import ApiSettings
from bandmaster.configs.notify import NotifySettings
from bandmaster.items.opened import open_items
from bandmaster.items.settling import settle
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

V1 = "/api/v1"
UNLIMITED = ApiSettings(
    requests_per_minute=1_000_000, submissions_per_minute=1_000_000, failed_logins_per_minute=1_000_000
)
"""Tests call far more often than people; those of the quotas have others."""

NOTIFY = NotifySettings(secret=SecretStr(f"whsec_{base64.b64encode(b'k' * 32).decode()}"))

ITEM_KEYS = (b"of the tokens that tests' programs get",)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Api:
    """A served API."""

    url: str
    queue: ExecutionQueueService
    database: Database
    consumer: Consumer
    services: Services
    table: TokenTable

    def token(
        self,
        owner: str,
        *scopes: str,
        max_band: str = "NORMAL",
        gates: tuple[str, ...] | None = None,
        queues: tuple[str, ...] | None = None,
    ) -> str:
        """Make a token; its text. A robot has its owner's name."""
        token, secret = new_token(
            owner=owner,
            scopes=read_scopes(scopes),
            max_band=Priority.parse(max_band),
            gates=gates,
            expires_ms=None,
            created_by="a test",
            robot_id=owner if {"robot", "settle"} & set(scopes) else None,
            queues=queues,
        )
        self.table.add(token)
        return secret.text

    @contextmanager
    def client(self, token: str | None, **headers: str) -> Generator[httpx.Client]:
        """A client that sends a token."""
        given = headers if token is None else headers | {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=self.url, headers=given, timeout=60) as client:
            yield client

    def catch_up(self) -> None:
        """Let the ledger read all that was journalled."""
        catch_up(self.consumer)


def services_on(
    client: redis.Redis,
    database: Database,
    folder: Path,
    *,
    clock: Callable[[], float] = time.monotonic,
    api: ApiSettings = UNLIMITED,
    item_keys: tuple[bytes, ...] = ITEM_KEYS,
) -> Services:
    """What an API works with; by `clock`, a token is asked for again."""
    asking = Asking(database, queue="exec_queue")
    queue = ExecutionQueueService(client)
    firing = FiringTokens(asking, ItemKeys(lambda: item_keys, clock=clock))
    return Services(
        queue=queue,
        broker=RedisBroker(client=client, middleware=[]),
        ledger=asking,
        keeper=Keeper(table=TokenTable(asking), firing=firing, clock=clock),
        pods=lambda: LocalPods(folder),
        hub=Hub(Follower(queue.scripts)),
        rates=Rates(asking, queue.views.server_time_ms),
        ledger_watch=LedgerWatch(asking, queue.scripts, clock=clock),
        quotas=Quotas(queue.scripts, api),
        sessions=BrowserSessions(queue.scripts, api),
        items=open_items(asking, client=queue.scripts.client, channel=queue.scripts.keys.items_channel, notify=NOTIFY),
        shards=Shards.alone(queue),
    )


def found(keeper: Keeper, text: str) -> Token | None:
    """What a request would find, whichever way it asks."""
    secret = Secret.read(text)
    assert secret is not None
    known = keeper.known(secret)
    token = keeper.find(secret)
    assert known in (None, token)
    return token


class _Server(uvicorn.Server):
    """A server whose event loop is known."""

    loop: asyncio.AbstractEventLoop
    own: asyncio.Task[Any]

    async def main_loop(self) -> None:
        """Serve until it is told to end."""
        self.loop, self.own = asyncio.get_running_loop(), asyncio.tasks.current_task() or self.own
        await super().main_loop()


@contextmanager
def _serving(
    application: FastAPI, settings: ApiSettings, listening: socket.socket | None = None
) -> Generator[tuple[_Server, str]]:
    """Serve an application in a thread; the server, and its URL."""
    config = uvicorn.Config(
        guarded(application, settings),
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
    )
    server = _Server(config)
    # In a thread that is not the main one, it takes no signals.
    given = None if listening is None else [listening]
    thread = threading.Thread(target=server.run, args=(given,), daemon=True)
    thread.start()
    wait_until(lambda: server.started, what="the API")
    listens: Any = server.servers[0].sockets[0]
    try:
        yield server, f"http://127.0.0.1:{listens.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def api_on(
    services: Services, settings: ApiSettings | None = None, *, listening: socket.socket | None = None
) -> Generator[str]:
    """Serve an API of its own until the end of the block, where it is told to or at a free port; its URL."""
    with _serving(build(services), settings or ApiSettings(), listening) as (_, url):
        try:
            yield url
        finally:
            services.closing.set()


class SharedServer:
    """One server and its routes, which work with what one test after another gives them."""

    def __init__(self, application: FastAPI, server: _Server, url: str) -> None:
        """Makes no call."""
        self._application = application
        self._server = server
        self._url = url

    @contextmanager
    def working_with(self, services: Services) -> Generator[str]:
        """Let it work with these until the end of the block; its URL."""
        assert self._application.state.services is None, "another test works with it"
        self._application.state.services = services
        try:
            yield self._url
        finally:
            services.closing.set()
            wait_until(lambda: not self._server.server_state.tasks, timeout_seconds=60, what="the last answer")
            # What reads on for followers, for example, would read the next test's.
            asyncio.run_coroutine_threadsafe(self._end_rest(), self._server.loop).result(60)
            self._application.state.services = None

    async def _end_rest(self) -> None:
        """End what runs in the event loop and is not the server itself, as at the end of a process."""
        rest = asyncio.all_tasks() - {self._server.own, asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)


@contextmanager
def shared_server() -> Generator[SharedServer]:
    """Serve an API that works with nothing yet."""
    application = build(None)  # pyright: ignore[reportArgumentType]  # it asks for them with each request
    with _serving(application, ApiSettings()) as (server, url):
        yield SharedServer(application, server, url)


@contextmanager
def signed_in(api: Api, token: str, **headers: str) -> Generator[httpx.Client]:
    """A client that has a session's cookie, and its CSRF token."""
    with api.client(None, **headers) as client:
        begun = client.post(f"{V1}/session", json={"token": token})
        assert begun.status_code == 201, begun.text
        client.headers[cookies.CSRF_HEADER] = begun.json()["csrf_token"]
        yield client


@contextmanager
def api_with(api: Api, **settings: Any) -> Generator[Api]:
    """Serve another beside one, with other settings: for Redis, another process."""
    given = ApiSettings.model_validate(settings)
    scripts = api.services.queue.scripts
    services = replace(
        api.services,
        quotas=Quotas(scripts, given),
        sessions=BrowserSessions(scripts, given),
        closing=threading.Event(),
    )
    with api_on(services, given) as url:
        yield replace(api, url=url, services=services)


def served(
    client: redis.Redis,
    ledger_url: str,
    folder: Path,
    serving: Callable[[Services], AbstractContextManager[str]] = api_on,
) -> Generator[Api]:
    """Serve an API on an empty queue and an empty ledger, whose tables are there; by a server of its own or another."""
    database = Database(ledger_url)
    services = services_on(client, database, folder)
    queue = ExecutionQueueService(client)
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test", settle=settle))
    assert consumer.begin()
    with serving(services) as address:
        yield Api(address, queue, database, consumer, services, TokenTable(Asking(database, queue="exec_queue")))
    services.queue.close()
    queue.close()
    database.close()
