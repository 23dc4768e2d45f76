"""Dramatiq's own tests of brokers, actors, results, pipelines and rate limits, with ours in the place of theirs.

They run in a process of their own: once as they are, so that ungated actors behave as on `RedisBroker`, once with every
actor gated, so that its queue is a lane, and once with a gated actor declared beside, which changes nothing for them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dramatiq_suite.left_out import FILES, LEFT_OUT, LEFT_OUT_BESIDE, LEFT_OUT_OF_LANES, WITHOUT_BROKER
from dramatiq_suite.sdist import unpack

pytestmark = pytest.mark.slow

PASSED_AT_LEAST: Final = {"ungated": 120, "gated": 90, "mixed": 90}
"""Fewer would mean that tests were not collected."""
LEFT_OUT_OF: Final = {"ungated": LEFT_OUT, "gated": LEFT_OUT_OF_LANES, "mixed": LEFT_OUT_BESIDE}


@pytest.mark.parametrize("actors", ["ungated", pytest.param("gated", marks=pytest.mark.nightly), "mixed"])
def test_dramatiq_s_own_tests_pass(actors: str, tmp_path: Path, redis_url: str) -> None:
    unpack(tmp_path)
    left_out = LEFT_OUT_OF[actors]
    files = [file for file in FILES if actors == "ungated" or file not in WITHOUT_BROKER]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:valkey", "-W", "ignore"),
            *("-n", "2", f"--server={redis_url.partition('?')[0]}"),
            f"--actors={actors}",
            *(f"--leave-out={name}" for name in left_out),
            *(f"tests/{file}" for file in files),
        ],
        cwd=tmp_path,
        env={**os.environ, "CI": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert passed is not None
    assert int(passed.group(1)) >= PASSED_AT_LEAST[actors]
