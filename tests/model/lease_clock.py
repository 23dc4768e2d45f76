"""The naive model of time: the clock that a test turns, and that of leases, which stands still while nobody calls."""

from typing import Final

NOTED_EACH_MS: Final = 1_000
LEASE_MS: Final = 30_000
REPAIRED_EACH_MS: Final = 20
GAP_MS: Final = LEASE_MS // 2
"""When nobody called for longer, nobody could renew either."""


class LeaseClock:
    """The server's time, and what leases end by."""

    def __init__(self, now_ms: int) -> None:
        self.now = now_ms
        self._seen_at = now_ms
        self._seen_as = now_ms
        """By the clock of leases."""
        self._runs_until = 0
        self._was_called = False
        self._repaired_at: int | None = None
        """By the last settlement that repaired, until another call is noted."""
        self._is_noted_anew = False

    @property
    def _stands_still(self) -> bool:
        """In a gap; but only in one in the length of two leases."""
        return self.now - self._seen_at > GAP_MS and self._seen_as >= self._runs_until

    @property
    def lease_now(self) -> int:
        """What leases end by."""
        if not self._was_called:
            return self.now
        passed = 0 if self._stands_still else max(0, self.now - self._seen_at)
        return self._seen_as + (passed if passed <= GAP_MS else GAP_MS)

    def note_call(self) -> None:
        """A call came that changes something; noted if the last note is not of this second."""
        if self._is_noted_anew:
            self._is_noted_anew, self._repaired_at = False, None
        if self._was_called and 0 <= self.now - self._seen_at < NOTED_EACH_MS:
            return
        lease_now = self.lease_now
        if self._was_called and self._stands_still:
            self._runs_until = lease_now + 2 * LEASE_MS
        self._was_called, self._seen_at, self._seen_as = True, self.now, lease_now
        self._is_noted_anew = True
