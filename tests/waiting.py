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
        condition: Called every 10 ms.
        timeout_seconds: After this the test fails.
        what: Named in the failure.

    Returns:
        The first truthy value.

    Raises:
        AssertionError: If the deadline passed.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what} did not hold within {timeout_seconds} s (last value: {value!r})")
        time.sleep(0.01)
