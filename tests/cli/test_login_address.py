"""The address by which a browser signs in: shown by `up` in a terminal, and by a command; once, and in no log."""

import re
from pathlib import Path

import httpx
import pytest
import redis
from cli.driving import COMMAND, Driver
from cli.terminal import terminal

from bandmaster.cli import login_address
from bandmaster.cli.exits import CommandFailed
from bandmaster.configs.api import URL_FILE
from bandmaster.configs.areas import PathSettings
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.queue import ExecutionQueueService

pytestmark = pytest.mark.slow


def signs_in(address: str) -> int:
    """What the API says to the code of an address."""
    url, _, code = address.partition("/#code=")
    assert "code" not in url
    return httpx.post(f"{url}/api/v1/session", json={"code": code}).status_code


def test_up_shows_an_address_that_signs_in_once_and_a_command_another_one(idle: Driver) -> None:
    command = [*COMMAND, "up", "--workers", "1"]
    with terminal(command, columns=300, cwd=idle.folder, environment=idle.environment) as one:
        one.wait_for("/#code=")
        found = re.search(r"https?://\S+/#code=\S+", one.shown)
        assert found is not None
        address = found[0]
        assert signs_in(address) == 201
        assert signs_in(address) == 401, "it was used"
        other = idle.json("token", "login")["address"]
        assert other.partition("#")[0] == address.partition("#")[0]
        assert signs_in(other) == 201
        for file in filter(Path.is_file, (idle.folder / "var").rglob("*")):
            assert not {code.encode() for code in (address[-43:], other[-43:])} & {
                *re.findall(rb"[\w-]{43}", file.read_bytes())
            }


def test_what_may_be_a_log_gets_no_address(driver: Driver) -> None:
    address = driver.json("token", "login")["address"]
    assert signs_in(address) == 201
    assert '"ready"' in (driver.folder / "up.out").read_text()
    said = (driver.folder / "up.out").read_text() + (driver.folder / "up.err").read_text()
    # No address that signs in, neither this one nor one of the start.
    assert "#code=" in address
    assert "#code=" not in said
    assert address.partition("#code=")[2] not in said


def test_without_an_api_of_this_folder_there_is_no_address(redis_client: redis.Redis, tmp_path: Path) -> None:
    settings = Settings(paths=PathSettings(var_dir=tmp_path))
    queue = ExecutionQueueService(redis_client)
    with pytest.raises(CommandFailed, match="start it by `bandmaster up`"):
        login_address.address_on(settings, queue)
    queue.close()


def test_an_address_of_an_earlier_start_is_none(tmp_path: Path) -> None:
    assert not login_address.is_served(tmp_path, None, 0.0)
    (tmp_path / URL_FILE).write_text("http://127.0.0.1:1")
    before = login_address.mark_of(tmp_path)
    assert before is not None
    assert not login_address.is_served(tmp_path, before, 0.0)
    assert login_address.is_served(tmp_path, None, 0.0)
