"""Connecting: which server, how long to wait for it, and what is said when it does not answer."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from become_server import BECOME_SERVER
from logged import context_of, events
from proxy import Loss, proxy_before

from bandmaster.configs.areas import PathSettings, RedisSettings
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import client_of, connect, redis_url
from waiting import GENEROUS_SECONDS

NEVER_SECONDS = 3_600
"""Who waits so long fails its test by the time that takes."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="bm-") as name:
        yield Path(name)


def named(url: str, **values: float) -> Settings:
    return Settings(redis=RedisSettings.model_validate({"url": url, **values}))


def test_without_a_url_it_is_the_embedded_servers_socket(folder: Path) -> None:
    assert redis_url(Settings(paths=PathSettings(var_dir=folder / "a b"))) == f"unix://{folder}/a%20b/redis/redis.sock"


def test_a_configured_url_is_given_with_its_password() -> None:
    assert redis_url(named("redis://:hunter2@host:1/0")) == "redis://:hunter2@host:1/0"


def test_a_client_is_bounded_and_names_itself(redis_url: str) -> None:
    with connect(named(redis_url, socket_timeout_seconds=3), name="bandmaster-test") as client:
        assert client.client_getname() == "bandmaster-test"
        options = client.connection_pool.connection_kwargs
        assert (options["socket_timeout"], options["socket_connect_timeout"]) == (3, 3)
        assert options["protocol"] == 2


def test_a_command_takes_no_longer_than_a_call(redis_url: str) -> None:
    with connect(named(redis_url, deadline_seconds=2)) as client:
        options = client.connection_pool.connection_kwargs
        assert (options["socket_timeout"], options["socket_connect_timeout"]) == (2, 2)


@pytest.mark.parametrize("loss", Loss)
def test_a_client_sends_a_command_once(loss: Loss, redis_client: redis.Redis, redis_url: str) -> None:
    with proxy_before(redis_url) as proxy, client_of(proxy.url, socket_timeout_seconds=0.25) as client:
        proxy.lose_reply(lambda command: command[0] == b"RPUSH", loss)
        with pytest.raises((redis.ConnectionError, redis.TimeoutError)):
            client.rpush("list", "element")
        assert (proxy.lost, redis_client.llen("list")) == (1, 1)
        proxy.refuses = True
        proxy.break_connections()
        with pytest.raises(redis.ConnectionError):
            client.rpush("list", "element")
        # One to find the broken connection in the pool, one to open another.
        assert proxy.refused <= 2


def test_a_lost_connection_is_made_again_without_an_error(redis_client: redis.Redis, redis_url: str) -> None:
    with connect(named(redis_url)) as client:
        client.set("a", "1")
        assert redis_client.client_kill_filter(_id=str(client.client_id())) == 1
        assert client.get("a") == b"1"


def test_it_waits_for_a_server_that_starts_late(folder: Path) -> None:
    path = folder / "redis.sock"
    server: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        options = [
            "--port",
            "0",
            "--unixsocket",
            str(path),
            "--dir",
            str(folder),
            "--save",
            "",
            "--logfile",
            f"{folder}/log",
        ]
        server.append(subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *options]))

    # The server ends with the thread that started it, so that thread has to stay until the end.
    done = threading.Event()
    thread = threading.Thread(target=lambda: (start(), done.wait()))
    thread.start()
    try:
        with connect(named(f"unix://{path}"), wait_seconds=GENEROUS_SECONDS) as client:
            assert client.ping()
    finally:
        done.set()
        thread.join()
        server[0].terminate()
        server[0].wait(timeout=GENEROUS_SECONDS)


def test_it_says_once_what_it_waits_for_and_gives_up_in_time(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    started = time.monotonic()
    with pytest.raises(QueueUnavailable) as caught:
        connect(Settings(paths=PathSettings(var_dir=folder)), wait_seconds=2.2)
    assert 2.2 <= time.monotonic() - started < GENEROUS_SECONDS
    assert events(caplog) == ["redis_awaited"]
    said = context_of(caplog, "redis_awaited")
    assert said["url"] == f"unix://{folder}/redis/redis.sock"
    assert "python -m bandmaster.scheduler.server.embedded" in said["advice"]
    message = str(caught.value)
    assert "the server did not answer within 2.2 s" in message
    assert f"(server unix://{folder}/redis/redis.sock)" in message


def test_a_refusal_shows_no_password() -> None:
    with pytest.raises(QueueUnavailable) as caught:
        connect(named("redis://ann:hunter2@127.0.0.1:1/0"), wait_seconds=0)
    assert "redis://ann:***@127.0.0.1:1/0" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "start that server, or name another with BANDMASTER_REDIS__URL" in str(caught.value)


def test_a_wrong_password_is_said_at_once(redis_client: redis.Redis, redis_url: str) -> None:
    redis_client.acl_setuser("ann", enabled=True, passwords=["+right"], commands=["+ping"])
    separator = "&" if "?" in redis_url else "?"
    try:
        with pytest.raises(QueueUnavailable, match="refuses the user or password") as caught:
            connect(named(f"{redis_url}{separator}username=ann&password=hunter2"), wait_seconds=NEVER_SECONDS)
        assert "hunter2" not in str(caught.value)
    finally:
        redis_client.acl_deluser("ann")


def test_a_server_that_takes_the_connection_and_never_answers_is_given_up() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(QueueUnavailable, match=r"did not answer within 0\.3 s"),
    ):
        connect(named(f"redis://127.0.0.1:{silent.getsockname()[1]}", socket_timeout_seconds=0.2), wait_seconds=0.3)


@pytest.mark.parametrize("url", ["redis://:hunter2/x@host", "redis://host/0?socket_timeout=soon", "http://host"])
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(QueueUnavailable, match="the server's URL cannot be used") as caught:
        client_of(url)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["http://x", "x:6379"])
def test_a_url_of_another_scheme_is_told_which_there_are(url: str) -> None:
    with pytest.raises(QueueUnavailable, match="it begins with none of redis://, rediss://, unix://, "):
        client_of(url)


def test_the_tests_own_server_is_private_to_this_process(redis_client: redis.Redis, redis_url: str) -> None:
    if "BANDMASTER_TEST_REDIS_URL" in os.environ:
        pytest.skip("a server was named")
    assert redis_client.dbsize() == 0
    assert redis_client.info("persistence")["aof_enabled"] == 0
    assert redis_url.startswith("unix:///")
