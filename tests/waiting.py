"""Waiting for a condition instead of sleeping: the deadline bounds the wait, it never decides the outcome."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, timeout_seconds: float = 30.0, what: str = "the condition") -> T:
    """Poll ``condition`` until it is truthy.

    Args:
        condition: Called every 10 ms.
        timeout_seconds: After this the test fails; generous, since a machine may be slow.
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
