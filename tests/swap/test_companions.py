"""Sentry, periodiq, dramatiq-abort and django-dramatiq work with `BandedRedisBroker`, on gated and ungated actors."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["sentry", "periodiq", "abort", "django"])
def test_a_companion_works(name: str, redis_url: str, redis_client: redis.Redis, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"swap.companions.with_{name}", redis_url, str(tmp_path)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-6_000:]
    assert "CRITICAL" not in done.stderr
    assert "Unexpected failure" not in done.stderr
