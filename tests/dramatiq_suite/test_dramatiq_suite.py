"""Dramatiq's own tests of brokers, actors, results, pipelines and rate limits, with ours in the place of theirs.

They run in a process of their own: once as they are, so that ungated actors behave as on `RedisBroker`, and once with
every actor gated, so that its queue is a lane.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from dramatiq_suite.left_out import FILES, LEFT_OUT, LEFT_OUT_OF_LANES, WITHOUT_BROKER
from dramatiq_suite.sdist import unpack

PASSED_AT_LEAST: Final = {False: 120, True: 90}
"""Fewer would mean that tests were not collected."""


@pytest.mark.parametrize("gated", [False, True], ids=["ungated", "gated"])
def test_dramatiq_s_own_tests_pass(gated: bool, tmp_path: Path, redis_url: str) -> None:
    unpack(tmp_path)
    left_out = LEFT_OUT_OF_LANES if gated else LEFT_OUT
    files = [file for file in FILES if not (gated and file in WITHOUT_BROKER)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:valkey", "-W", "ignore"),
            *("-n", "2", f"--server={redis_url.partition('?')[0]}"),
            *(["--gated"] if gated else []),
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
    assert int(passed.group(1)) >= PASSED_AT_LEAST[gated]
