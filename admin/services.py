"""``Services``: what the routes work with, opened once for a process."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dramatiq.brokers.redis import RedisBroker

from ..items.opened import Items
from ..k8s.pods import Pods
from ..ledger.queries.asking import Asking
from ..scheduler.queue import ExecutionQueueService
from .auth.browser_sessions import BrowserSessions
from .auth.keeper import Keeper
from .errors import too_many_lookups
from .events.hub import Hub
from .ledger_watch import LedgerWatch
from .lookups import Lookups
from .oidc.opened import Oidc
from .once import Once
from .output.followers import Followers
from .places import Places
from .quotas.quotas import Quotas
from .rates import Rates
from .shards.shards import Shards

QUEUE_AT_ONCE: Final = 24
"""How many routes ask Redis at once: fewer than there are threads, which are AnyIO's forty."""

UPLOADS_AT_ONCE: Final = 2
"""How many files of items are taken at once: each is on the disk, and keeps a thread and a transaction."""

EXPORTS_AT_ONCE: Final = 4
"""How many are sent at once: each reads the ledger page by page, for as long as somebody reads it."""

BULKS_AT_ONCE: Final = 4
"""How many of them change many, or count what a change of many would change: each takes seconds."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes work with. Safe to share between threads."""

    queue: ExecutionQueueService
    broker: RedisBroker
    """Sends to workers by an actor's name."""
    ledger: Asking
    keeper: Keeper
    pods: Callable[[], Pods]
    """The pods of the backend; nothing is connected before the first call."""
    hub: Hub
    rates: Rates
    ledger_watch: LedgerWatch
    quotas: Quotas
    sessions: BrowserSessions
    items: Items
    shards: Shards
    oidc: Oidc | None = None
    """Logins with an OpenID provider; None: there is none."""
    known_tokens: Lookups = field(default_factory=lambda: Lookups(16, most=10_000, refusal=too_many_lookups))
    """Looks for tokens that were valid before."""
    strange_tokens: Lookups = field(
        default_factory=lambda: Lookups(4, most=256, refusal=too_many_lookups, patience_seconds=1.0)
    )
    """Looks for tokens that nobody knows yet."""
    strangers: Once = field(default_factory=Once)
    """Who sends one of these, by token and network."""
    probes: Lookups = field(default_factory=lambda: Lookups(2, most=2, refusal=TimeoutError))
    """Looks at Redis and at the ledger, one each however many ask: whoever probes needs no token and has no quota."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUEUE_AT_ONCE))
    """Of the routes that ask Redis."""
    bulks: Places = field(
        default_factory=lambda: Places(BULKS_AT_ONCE, 1, of="change many, or count them,", code="too_many_bulks")
    )
    """Of changes of many, and of their dry runs."""
    uploads: Places = field(
        default_factory=lambda: Places(UPLOADS_AT_ONCE, 1, of="upload files", code="too_many_files")
    )
    """Of files of items that come."""
    exports: Places = field(
        default_factory=lambda: Places(EXPORTS_AT_ONCE, 2, of="export files", code="too_many_files")
    )
    """Of those that go."""
    followers: Followers = field(default_factory=Followers)
    """Those who follow what executions print, and the reading of pods."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the process is about to end: whoever follows something is let go."""
