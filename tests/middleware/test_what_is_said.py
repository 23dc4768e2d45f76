"""What the library says in an application: where it has configured it, never by itself, and no payload."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis

APPLICATION = Path(__file__).parent / "speaking.py"


@pytest.mark.parametrize("configured", ["nothing", "logging"])
def test_an_application_hears_what_it_has_configured_and_no_payload(
    redis_url: str, redis_client: redis.Redis, configured: str
) -> None:
    assert redis_client.dbsize() == 0
    program = [sys.executable, str(APPLICATION), redis_url, configured]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stderr == ""
    ours = [line for line in ran.stdout.splitlines() if line.startswith("bandmaster.")]
    if configured == "nothing":
        assert ran.stdout == ""
    else:
        assert [line for line in ours if line.partition(" ")[2].startswith("ERROR follow_up_rejected ")]
        assert "hunter2" not in "".join(ours)
