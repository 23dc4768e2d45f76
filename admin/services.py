"""``Services``: what the routes work with, opened once for a process."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from dramatiq.brokers.redis import RedisBroker

from ..k8s.pods import Pods
from ..ledger.queries.asking import Asking
from ..scheduler.queue import ExecutionQueueService
from .auth.browser_sessions import BrowserSessions
from .auth.keeper import Keeper
from .events.hub import Hub
from .looking import Look
from .oidc.opened import Oidc
from .output.followers import Followers
from .quotas.quotas import Quotas
from .rates import Rates

QUEUE_AT_ONCE: Final = 24
"""How many routes ask Redis at once: fewer than there are threads, which are AnyIO's forty."""


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
    quotas: Quotas
    sessions: BrowserSessions
    oidc: Oidc | None = None
    """Logins with an OpenID provider; None: there is none."""
    redis_look: Look[bool] = field(default_factory=Look[bool])
    """Whether Redis answers, for probes."""
    ledger_look: Look[bool | None] = field(default_factory=Look[bool | None])
    """Whether the ledger is written, for probes; None: it cannot be read."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUEUE_AT_ONCE))
    """Of the routes that ask Redis."""
    followers: Followers = field(default_factory=Followers)
    """Those who follow what executions print, and the reading of pods."""
    closing: threading.Event = field(default_factory=threading.Event)
    """Set when the process is about to end: whoever follows something is let go."""
