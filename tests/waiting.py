"""Waiting for a condition instead of sleeping: the deadline bounds the wait, it never decides the outcome.

There is one deadline for whatever a test waits for: generous, since a machine may be slow, and only a defect meets it.
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

GENEROUS_SECONDS: Final = 60.0
GENEROUS_MS: Final = 60_000
"""The same, for Dramatiq's `join`, `stop` and `get_result`."""


def wait_until(
    condition: Callable[[], T], *, timeout_seconds: float = GENEROUS_SECONDS, what: str = "the condition"
) -> T:
    """Poll ``condition`` until it is truthy.

    Args:
        condition: Called every 10 ms at first; the longer it takes, the less often, down to every 50 ms.
        timeout_seconds: After this the test fails.
        what: Named in the failure.

    Returns:
        The first truthy value.

    Raises:
        AssertionError: If the deadline passed.
    """
    began = time.monotonic()
    while True:
        value = condition()
        if value:
            return value
        waited_seconds = time.monotonic() - began
        if waited_seconds >= timeout_seconds:
            raise AssertionError(f"{what} did not hold within {timeout_seconds} s (last value: {value!r})")
        # Often enough to lose no time, and seldom enough to leave a busy machine to what is waited for.
        time.sleep(min(0.05, max(0.01, waited_seconds / 40)))
