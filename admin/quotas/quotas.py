"""``Quotas``: all quotas of an API, as the settings have them."""

import time
from collections.abc import Callable

from ...configs.api import ApiSettings
from ...scheduler.transport.scripts import Scripts
from .counter import Counter
from .quota import Quota


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
