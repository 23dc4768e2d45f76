"""``Quota``: how many of something each caller may take a minute.

In the flow: taking one is a subtraction in this process, as long as it has some of the caller's in hand; then it takes
a twentieth of the quota from Redis. So a caller is never given more than the quota by all processes together, and
may get less by what the others have in hand. While Redis does not answer, or there are too many callers to keep, each
process gives the whole quota by itself.
"""

import asyncio
import hashlib
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...configs.logger import Logger
from ..errors import Refused, rate_limited
from .counter import WINDOW_SECONDS, Counter

_log = Logger(__name__)
MOST_KEPT: Final = 10_000
"""Of how many callers a process knows what they took; also how many keys it makes in Redis at most, for each quota."""
_PARTS: Final = 20


@dataclass(slots=True)
class Share:
    """What this process has of one caller's quota, in the present minute."""

    digest: str
    is_alone: bool = False
    """Whether it is never counted in Redis."""
    left: int = 0
    """What it has in hand."""
    given: int = 0
    """What it got in this minute."""
    elsewhere: int = 1
    """What Redis still had when it was last asked; before that, something."""
    ends: float = math.inf
    """When the minute is over, by the clock of this process."""
    asking: "asyncio.Task[None] | None" = None
    told: set[str] = field(default_factory=set[str])
    """What the log knows of it."""

    def is_news(self, event: str) -> bool:
        """Whether the log does not know something yet: it is told once, and not with each request."""
        is_news = event not in self.told
        self.told.add(event)
        return is_news


class Quota:
    """One quota. To be used from one event loop."""

    def __init__(
        self,
        name: str,
        most: int,
        counter: Counter,
        *,
        setting: str,
        most_kept: int = MOST_KEPT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes no call.

        Args:
            name: By which callers know it.
            most: How many a caller may take a minute.
            counter: Counts for all processes.
            setting: The setting that says `most`.
            most_kept: Of how many callers it knows what they took.
            clock: Seconds that only grow.
        """
        self.policy: Final = f'"{name}";q={most};w={WINDOW_SECONDS}'
        """The value of RateLimit-Policy."""
        self._name = name
        self._most = most
        self._counter = counter
        self._setting = setting
        self._most_kept = most_kept
        self._clock = clock
        self.part: Final = max(1, most // _PARTS)
        """How many this process takes at once for a caller; whoever has no more under way has no more in hand."""
        self._shares: OrderedDict[str, Share] = OrderedDict()

    async def take(self, whose: str) -> Share:
        """Take one.

        Raises:
            Refused: If all are taken.
        """
        while True:
            now = self._clock()
            share = self._shares.get(whose)
            if share is None or now >= share.ends:
                share = self._begin(whose, now)
            if share.left:
                share.left -= 1
                return share
            if not share.elsewhere:
                raise self._refused(whose, share)
            if share.asking is None:
                share.asking = asyncio.create_task(self._ask(share))
            # Others wait for the same: the first that goes away does not end it.
            await asyncio.shield(share.asking)

    def give_back(self, share: Share) -> None:
        """Undo a taking."""
        share.left += 1

    def headers_of(self, share: Share) -> dict[str, str]:
        """Return what an answer tells of the quota (draft-ietf-httpapi-ratelimit-headers)."""
        return {
            "RateLimit-Policy": self.policy,
            "RateLimit": f'"{self._name}";r={share.left + share.elsewhere};t={self._seconds_left(share)}',
        }

    def _begin(self, whose: str, now: float) -> Share:
        self._shares.pop(whose, None)
        # They began in this order, and none is longer than a minute.
        while self._shares and next(iter(self._shares.values())).ends <= now:
            self._shares.popitem(last=False)
        is_full = len(self._shares) >= self._most_kept
        if is_full:
            self._shares.popitem(last=False)
        digest = hashlib.sha256(f"{self._name}\n{whose}".encode(errors="replace")).hexdigest()
        share = self._shares[whose] = Share(digest, is_alone=is_full)
        return share

    async def _ask(self, share: Share) -> None:
        try:
            await self._fill(share)
        finally:
            share.asking = None

    async def _fill(self, share: Share) -> None:
        counted = None if share.is_alone else await self._counter.add(share.digest, self.part)
        now = self._clock()
        if counted is None:
            share.left, share.elsewhere = max(0, self._most - share.given), 0
            share.ends = min(share.ends, now + WINDOW_SECONDS)
        else:
            before = counted.total - self.part
            share.left = max(0, min(self.part, self._most - before))
            # If a new minute has begun in Redis, less was taken than this process got.
            share.given = min(share.given, before) + share.left
            share.elsewhere = max(0, self._most - counted.total)
            share.ends = now + counted.left_seconds

    def _refused(self, whose: str, share: Share) -> Refused:
        if share.is_news("quota_taken"):
            _log.warning("quota_taken", quota=self._name, whose=whose)
        detail = f"{self._most} {self._name} a minute are allowed (api.{self._setting})"
        return rate_limited(detail, self._seconds_left(share), self.headers_of(share))

    def _seconds_left(self, share: Share) -> int:
        return max(1, math.ceil(share.ends - self._clock()))
