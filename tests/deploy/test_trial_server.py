"""The trial server as its container starts it: with the Secret's password, which nobody sees among the arguments."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import redis
import yaml

from bandmaster.scheduler.server.valkey import server_binary
from waiting import GENEROUS_SECONDS, wait_until

MANIFEST: Final = Path(__file__).parents[2] / "configs" / "deploy" / "kustomize" / "redis" / "redis.yaml"
PASSWORDS: Final = ["0123456789abcdef", "two words", 'it\'s "quoted" \\ $HOME `id` $(id) # é']


@pytest.fixture(params=PASSWORDS)
def password(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(password: str, tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    documents: list[Any] = list(yaml.safe_load_all(MANIFEST.read_text()))
    (container,) = next(
        each["spec"]["template"]["spec"]["containers"] for each in documents if each["kind"] == "StatefulSet"
    )
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "valkey-server").symlink_to(server_binary())
    (script,) = container["args"]
    here = script.replace("--dir /data", f"--dir {tmp_path} --port 0 --unixsocket server.sock")
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "REDIS_PASSWORD": password}
    with subprocess.Popen(
        [*container["command"], here], env=environment, stdout=subprocess.DEVNULL, cwd=tmp_path
    ) as run:
        wait_until((tmp_path / "server.sock").exists, what="the server")
        yield run
        run.kill()


def test_the_server_has_the_secrets_password_and_no_argument_tells_it(
    server: "subprocess.Popen[bytes]", password: str, tmp_path: Path
) -> None:
    path = os.path.relpath(tmp_path / "server.sock")
    with redis.Redis(unix_socket_path=path) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    with redis.Redis(unix_socket_path=path, password=password) as client:
        assert client.ping()
        settings: Any = client.config_get("appendonly", "maxmemory-policy", "save")
    assert settings == {"appendonly": "yes", "maxmemory-policy": "noeviction", "save": ""}
    assert password.encode() not in Path(f"/proc/{server.pid}/cmdline").read_bytes()


def test_the_server_is_the_containers_first_process_and_ends_when_it_is_told_to(
    server: "subprocess.Popen[bytes]", password: str
) -> None:
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=GENEROUS_SECONDS) == 0
