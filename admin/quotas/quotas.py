"""``Quotas``: all quotas of an API, as the settings have them."""

import time
from collections.abc import Callable
from typing import Final

from ...configs.api import ApiSettings
from ...scheduler.transport.scripts import Scripts
from ..errors import too_many_lookups
from .counter import Counter
from .quota import Quota
from .turns import Turns

PATIENCE_SECONDS: Final = 5.0
"""A stranger waits so long behind others of its network."""


class Quotas:
    """The quotas of one process; None: there is none. To be used from one event loop."""

    def __init__(self, scripts: Scripts, api: ApiSettings, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Makes no call. `clock`: seconds that only grow."""
        counter = Counter(scripts, clock=clock)

        def quota(name: str, setting: str) -> Quota | None:
            most: int = getattr(api, setting)
            return Quota(name, most, counter, setting=setting, clock=clock) if most else None

        self.requests = quota("requests", "requests_per_minute")
        """By token."""
        self.submissions = quota("submissions", "submissions_per_minute")
        """By token."""
        self.failed_logins = quota("failed-logins", "failed_logins_per_minute")
        """By network."""
        at_once = self.failed_logins.part if self.failed_logins else api.failed_logins_per_minute
        self.login_turns = Turns(at_once, patience_seconds=PATIENCE_SECONDS, refusal=too_many_lookups)
        """By network: of what may turn out to be a failed login."""
