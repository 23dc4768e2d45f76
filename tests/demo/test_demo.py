"""The demo, run for real as a user does; it checks its own claims, and here it is checked that it does."""

import json
import os
import signal
import subprocess
import sys
import tempfile

import psutil
import pytest

from bandmaster.demo.checks import check
from bandmaster.demo.observed import Observed
from bandmaster.demo.plan import plan
from bandmaster.scheduler.views import QueueStatus
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow


def test_the_demo_runs_the_main_job_and_all_its_claims_hold() -> None:
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bandmaster", "demo", "--json"],
            env={**os.environ, "BANDMASTER_PATHS__VAR_DIR": folder},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    claims = json.loads(done.stdout)
    assert len(claims) == 6
    assert all(claim["holds"] for claim in claims), claims


@pytest.mark.parametrize(
    "how",
    [*(pytest.param(each, marks=pytest.mark.nightly) for each in (signal.SIGHUP, signal.SIGTERM)), signal.SIGKILL],
)
def test_a_demo_that_is_ended_leaves_nothing_running(how: signal.Signals) -> None:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        demo = psutil.Popen(
            [sys.executable, "-m", "bandmaster", "demo"],
            env={**os.environ, "BANDMASTER_PATHS__VAR_DIR": folder},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: len(demo.children(recursive=True)) >= 4, what="its processes")
        family = demo.children(recursive=True)
        demo.send_signal(how)
        demo.wait(GENEROUS_SECONDS)
        _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
        assert left == []


def test_a_claim_that_does_not_hold_is_found() -> None:
    nothing_seen = Observed()
    status = QueueStatus(
        lane="executions",
        queue_depth=1,
        active_count=0,
        scheduled_count=0,
        dead_count=0,
        pending_by_priority={},
        settings={},
    )
    claims = check(plan(), nothing_seen, status, limit=4)
    assert [claim.holds for claim in claims] == [False, False, False, False, True, False]


def test_without_programs_it_says_what_is_missing() -> None:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bandmaster", "demo", "--programs", folder],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "--programs" in done.stderr
