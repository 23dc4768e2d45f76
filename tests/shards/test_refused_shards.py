"""Shards of a broker that cannot be are refused when it is made, with what was wrong and what to do."""

import inspect
from typing import Any

import pytest

from bandmaster import BandedRedisBroker
from bandmaster.configs.errors import SettingsError
from bandmaster.middleware.shards.sharded_broker import ShardedBroker
from bandmaster.scheduler.server.connection import client_of

HOME = "redis://:hunter2@127.0.0.1:6390/3"


def refused(shards: Any, **arguments: Any) -> str:
    given: dict[str, Any] = {"url": HOME} | arguments
    with pytest.raises(SettingsError) as error:
        BandedRedisBroker(**given, shards=shards)
    return str(error.value)


@pytest.mark.parametrize(
    ("shards", "shown"),
    [
        (["redis://:hunter2@second/0"], r"redis://:***@second/0"),
        ([("high", "redis://:hunter2@second/0")], "a tuple"),
        ("redis://:hunter2@second/0", r"redis://:***@second/0"),
    ],
)
def test_a_list_is_told_what_is_taken_in_its_place(shards: object, shown: str) -> None:
    told = refused(shards)
    assert told.startswith(f"shards: a {type(shards).__name__} ({shown}) names no shards; allowed: ")
    assert '{"high": "redis://…"}' in told
    assert "hunter2" not in told


@pytest.mark.parametrize("url", [HOME, "redis://localhost:6390/3", "redis://:other@[::1]:6390?db=3"])
@pytest.mark.parametrize("has_client", [True, False])
def test_its_own_server_is_none_of_its_shards(url: str, has_client: bool) -> None:
    arguments: dict[str, Any] = {"url": None, "client": client_of(HOME)} if has_client else {}
    told = refused({"low": url}, **arguments)
    assert told.startswith(
        "shards: default and low are the same database of one server (localhost, 6390, 3), and would "
    )
    assert "give one of them another server or database" in told


def test_two_shards_are_not_one_database() -> None:
    assert "shards: high and low are the same" in refused(
        {"high": "unix:///run/r.sock", "low": "unix:///run/r.sock?db=0"}
    )
    made = BandedRedisBroker(url=HOME, shards={"high": "unix:///run/r.sock", "low": "unix:///run/r.sock?db=1"})
    made.close()


def test_what_a_sharded_broker_must_have_is_declared() -> None:
    assert inspect.isabstract(ShardedBroker)
    assert ShardedBroker.__abstractmethods__ == {"enqueue_here", "send_here"}
