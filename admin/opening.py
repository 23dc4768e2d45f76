"""Opens what the API works with, and refuses to start where nobody or everybody could call it.

In the flow: the process calls it once. Redis and the database may be away at the start: each request that needs one of
them says so until it is back.
"""

from functools import cache
from typing import Final

import redis
from dramatiq.brokers.redis import RedisBroker

from ..configs.errors import SettingsError
from ..configs.logger import Logger
from ..configs.settings import Settings
from ..items.opened import open_items
from ..k8s.backend import connect as connect_pods
from ..k8s.pods import Pods
from ..ledger.errors import AnotherQueue, LedgerError
from ..ledger.opening import database_of
from ..ledger.queries.asking import Asking
from ..scheduler.engine.journal_following import Follower
from ..scheduler.queue import ExecutionQueueService
from .auth.browser_sessions import BrowserSessions
from .auth.firing_tokens import FiringTokens
from .auth.item_keys import ItemKeys
from .auth.keeper import Keeper
from .auth.local_token import FILE, local_token
from .auth.token_file import TokenFile
from .auth.token_table import TokenTable
from .events.hub import Hub
from .ledger_watch import LedgerWatch
from .oidc.opened import open_oidc
from .quotas.quotas import Quotas
from .rates import Rates
from .services import Services
from .shards.shards import Shards

_log = Logger(__name__)
CREATE: Final = "`bandmaster token create --scope admin --owner NAME` makes one"


def open_services(settings: Settings, client: redis.Redis) -> Services:
    """Open everything.

    Args:
        settings: All of them.
        client: A client of the queue's server.

    Raises:
        SettingsError: If a setting is wrong, or nobody could call the API.
        AnotherQueue: If the ledger is that of another queue.
        ExtraMissing: If a package is not installed.
    """
    ledger = _ledger(settings)
    firing = FiringTokens(ledger, ItemKeys(lambda: settings.item_keys))
    keeper = _keeper(settings, TokenTable(ledger), firing)

    @cache
    def pods() -> Pods:
        return connect_pods(
            settings.k8s.backend, root=settings.paths.absolute, local=settings.local, cluster=settings.k8s
        )

    queue = ExecutionQueueService(
        client, prefix=settings.redis.prefix, deadline_seconds=settings.redis.deadline_seconds
    )
    return Services(
        queue=queue,
        broker=RedisBroker(client=client, namespace=settings.redis.dramatiq_namespace, middleware=[]),
        ledger=ledger,
        keeper=keeper,
        pods=pods,
        hub=Hub(Follower(queue.scripts)),
        rates=Rates(ledger, queue.views.server_time_ms),
        ledger_watch=LedgerWatch(ledger, queue.scripts),
        quotas=Quotas(queue.scripts, settings.api),
        sessions=BrowserSessions(queue.scripts, settings.api),
        items=open_items(
            ledger, client=queue.scripts.client, channel=queue.scripts.keys.items_channel, notify=settings.notify
        ),
        shards=Shards.of(settings, queue),
        oidc=open_oidc(settings.oidc, queue.scripts),
    )


def _ledger(settings: Settings) -> Asking:
    ledger = Asking(database_of(settings), queue=settings.redis.prefix)
    try:
        ledger.soon(ledger.is_written)
    except AnotherQueue:
        # It would show another's history as this queue's.
        raise
    except LedgerError as error:
        _log.warning("ledger_not_read", problem=str(error))
    return ledger


def _keeper(settings: Settings, table: TokenTable, firing: FiringTokens) -> Keeper:
    api = settings.api
    if api.tokens_file is not None:
        return Keeper(file=TokenFile(api.tokens_file), table=table, firing=firing)
    if api.is_loopback:
        local = local_token(settings.paths.absolute)
        _log.info("local_token", file=str(settings.paths.absolute / FILE))
        return Keeper(local=local, table=table, firing=firing)
    if settings.oidc.issuer is not None:
        # Users of the provider can call it, whether there are tokens or not.
        return Keeper(table=table, firing=firing)
    try:
        if not any(token.revoked_ms is None for token in table.all()):
            raise SettingsError(f"nobody could call the API at {api.host}: there are no tokens. {CREATE}")
    except LedgerError as error:
        if settings.ledger.url is None:
            raise SettingsError(
                f"nobody could call the API at {api.host}: it needs a database with tokens (ledger.url; {CREATE}), or "
                f"api.tokens_file ({error})"
            ) from None
        _log.warning("tokens_not_read", problem=str(error))
    return Keeper(table=table, firing=firing)
