"""What Dramatiq's tests import from their package's `common`, which its source distribution lacks.

Written from how the tests use it.
"""

import os
import platform
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from dramatiq import Broker, Worker

RABBITMQ_CREDENTIALS: Final[Any] = None
"""There is no RabbitMQ here; the tests that need it are left out."""

skip_in_ci = pytest.mark.skipif(
    bool(os.environ.get("CI")), reason="depends on the time of day, or takes too long for CI"
)
skip_on_windows = pytest.mark.skipif(sys.platform == "win32", reason="not for Windows")
skip_on_pypy = pytest.mark.skipif(platform.python_implementation() == "PyPy", reason="not for PyPy")


@contextmanager
def worker(broker: Broker, **options: Any) -> Generator[Worker]:
    """A worker that runs while the block lasts."""
    started = Worker(broker, **options)
    started.start()
    try:
        yield started
    finally:
        started.stop()
