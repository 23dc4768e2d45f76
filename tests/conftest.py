"""One real server a test process, and one clean database a test.

The server is the one that BANDMASTER_TEST_REDIS_URL names, or one on a socket in a temporary folder, without
persistence, one for each worker of pytest-xdist: the bundled Valkey, or the program that BANDMASTER_TEST_SERVER names.
If the test process dies, its server goes with it.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from become_server import BECOME_SERVER
from costs import Costs
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from redis.backoff import NoBackoff
from redis.retry import Retry
from tiers import LeftOut
from together import Together
from unread import Unread

from waiting import GENEROUS_SECONDS, wait_until

# A busy machine is slow, and no test depends on how slow it is.
hypothesis_settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("any-machine")


def pytest_configure(config: pytest.Config) -> None:
    """Leave files unread, say what was left out, and note what each file costs where somebody wants to know."""
    named = frozenset((config.invocation_params.dir / each.partition("::")[0]).resolve() for each in config.args)
    config.pluginmanager.register(Unread(config.option.markexpr, config.rootpath / "tests", named))
    config.pluginmanager.register(LeftOut())
    config.pluginmanager.register(Together())
    folder = os.environ.get("TEST_COSTS_FOLDER")
    if folder and not config.pluginmanager.has_plugin("dsession"):
        config.pluginmanager.register(Costs(Path(folder)))


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a server that is this test process's own."""
    named = os.environ.get("BANDMASTER_TEST_REDIS_URL")
    if named:
        # Each worker of pytest-xdist takes its own database: gw3 → 3.
        number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
        yield f"{named}{'&' if '?' in named else '?'}db={number}"
        return
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        url = f"unix://{folder}/redis.sock"
        log = Path(folder) / "log"
        options = [
            "--port",
            "0",
            "--unixsocket",
            f"{folder}/redis.sock",
            "--dir",
            folder,
            "--save",
            "",
            "--logfile",
            str(log),
        ]
        server = subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *options])
        try:
            with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as client:
                wait_until(lambda: _answers(client, server, log), what="the server")
            yield url
        finally:
            server.terminate()
            server.wait(timeout=GENEROUS_SECONDS)


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of an empty database, which is emptied again afterwards."""
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
        yield client
        client.flushdb()


def _answers(client: redis.Redis, server: subprocess.Popen[bytes], log: Path) -> bool:
    if server.poll() is not None:
        raise AssertionError(f"the server ended with {server.returncode}:\n{log.read_text() if log.exists() else ''}")
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
