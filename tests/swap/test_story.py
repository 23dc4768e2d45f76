"""A story: the ticket shop swaps its broker. Its own tests stay green, and its worker's process does what it did.

The first run is with `RedisBroker`, so that its tests are known to be right.
"""

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]
OWN_TESTS = TESTS / "swap" / "shop" / "own_tests.py"
SHOPS: dict[str, dict[str, str]] = {
    "as it was": {"SHOP_BROKER": "redis"},
    "swapped": {"SHOP_BROKER": "banded"},
    "swapped, and one actor gated": {"SHOP_BROKER": "banded", "SHOP_GATED": "1"},
}


@pytest.fixture(
    params=[
        pytest.param(variables, id=name, marks=[pytest.mark.nightly] if name == "as it was" else [])
        for name, variables in SHOPS.items()
    ]
)
def environment(request: pytest.FixtureRequest, redis_url: str, redis_client: redis.Redis, tmp_path: Path) -> Any:
    """The shop's, on an empty database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    figures = tmp_path / "figures"
    figures.mkdir()
    prometheus = {"dramatiq_prom_host": "127.0.0.1", "dramatiq_prom_port": str(port), "dramatiq_prom_db": str(figures)}
    return {**os.environ, **request.param, **prometheus, "SHOP_REDIS_URL": redis_url}


def test_its_own_tests_pass(environment: dict[str, str], tmp_path: Path) -> None:
    settings = tmp_path / "pytest.ini"
    settings.write_text(f"[pytest]\npythonpath = {TESTS}\n")
    plain = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:valkey", "-W", "ignore")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plain, "-c", str(settings), str(OWN_TESTS)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert " passed" in done.stdout


@pytest.fixture
def worker(environment: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """The shop's worker, a process of its own; its log."""
    log = tmp_path / "worker.log"
    command = [sys.executable, "-m", "dramatiq", "swap.shop.application", "--processes", "1", "--threads", "4"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=TESTS, env=environment, stdout=output, stderr=output)
    yield log
    process.terminate()
    assert process.wait(timeout=60) == 0, log.read_text()[-3_000:]


ORDERS = """
import datetime
from dramatiq import pipeline
from swap.shop import application as shop

shop.book.send_with_options(args=("arena", 1), band="The Gates", user_id=7, gates="north", scheduled_at="next summer")
shop.book.send_with_options(args=("arena", 2), band="The Gates", delay=50)
pipeline([shop.book.message("arena", 3), shop.print_ticket.message()]).run()
shop.refund.send(5)
shop.tidy.send_with_options(scheduled_at=str(datetime.datetime.now(datetime.timezone.utc)))
"""


def test_its_worker_does_what_it_did(
    environment: dict[str, str], worker: Path, redis_client: redis.Redis, tmp_path: Path
) -> None:
    subprocess.run([sys.executable, "-c", ORDERS], cwd=TESTS, env=environment, check=True, timeout=60)

    def noted(what: str) -> int:
        return int(redis_client.llen(f"shop-notes:{what}"))  # type: ignore[arg-type]

    expected = {"booked": 3, "printed": 1, "refunds": 2, "sentry": 2, "tidied": 1}
    wait_until(lambda: {name: noted(name) for name in expected} == expected, what=f"{expected}")

    def figures() -> str:
        url = f"http://127.0.0.1:{environment['dramatiq_prom_port']}"
        try:
            with urllib.request.urlopen(url, timeout=GENEROUS_SECONDS) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError:
            return ""  # the process that tells them has not begun

    booked = 'dramatiq_messages_total{actor_name="book",queue_name="orders"} 3.0'
    failed = 'dramatiq_message_errors_total{actor_name="refund",queue_name="orders"} 2.0'
    wait_until(lambda: booked in figures() and failed in figures(), what="the figures")
    assert "CRITICAL" not in worker.read_text()
