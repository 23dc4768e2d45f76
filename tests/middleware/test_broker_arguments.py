"""What a broker is made with is checked at once, and not by its first message."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import redis

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.server.connection import client_of

NO_ARGUMENTS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"deadline_seconds": 0}, "deadline_seconds: 0 is no time; allowed: seconds, above 0"),
    ({"deadline_seconds": "x"}, "deadline_seconds: 'x' is no time; allowed: seconds, above 0"),
    ({"deadline_seconds": float("nan")}, "deadline_seconds: nan is no time; allowed: seconds, above 0"),
    ({"max_message_bytes": -1}, "max_message_bytes: -1 is no size; allowed: bytes, 1 or more"),
    ({"max_message_bytes": None}, "max_message_bytes: None is no size; allowed: bytes, 1 or more"),
)


def test_an_argument_that_could_never_work_is_refused(redis_url: str, subtests: pytest.Subtests) -> None:
    for arguments, problem in NO_ARGUMENTS:
        with subtests.test(arguments=arguments, problem=problem):
            with pytest.raises(InvalidRequest) as refusal:
                BandedRedisBroker(url=redis_url, **arguments)
            assert str(refusal.value) == problem


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("lane", "lanes"),
        ("max_queue_sise", "max_queue_size"),
        ("heartbeat_timeot", "heartbeat_timeout"),
        ("prt", "port"),
    ],
)
@pytest.mark.parametrize("door", ["constructor", "settings", "client"])
def test_a_misspelt_argument_is_refused_and_not_ignored(door: str, name: str, meant: str, redis_url: str) -> None:
    doors: dict[str, Callable[..., BandedRedisBroker]] = {
        "constructor": partial(BandedRedisBroker, url=redis_url),
        "client": partial(BandedRedisBroker, client=client_of(redis_url)),
        "settings": BandedRedisBroker.from_settings,
    }
    problem = (
        f"{name}: there is no such argument of a broker; allowed: ageing_seconds, client, .*; did you mean {meant}"
    )
    with pytest.raises(InvalidRequest, match=problem):
        doors[door](**{name: 1})


def test_an_argument_of_a_client_is_refused_where_the_settings_name_the_server(redis_url: str) -> None:
    with pytest.raises(InvalidRequest, match="port: it has no effect on the server that the settings name"):
        BandedRedisBroker.from_settings(port=1)
    broker = BandedRedisBroker.from_settings(url=redis_url, socket_timeout=5.0, heartbeat_timeout=60_000)
    assert broker.heartbeat_timeout == 60_000
    assert options_of(broker)["socket_timeout"] == 5.0
    broker.close()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("redis://u:secret@host:7000/3?health_check_interval=9", redis.Connection),
        ("rediss://u:secret@host:7000/3?health_check_interval=9", redis.SSLConnection),
        ("unix://u:secret@/tmp/s?db=3&health_check_interval=9", redis.UnixDomainSocketConnection),
    ],
)
def test_what_is_said_of_the_client_beside_a_url_has_its_effect(url: str, kind: type[redis.Connection]) -> None:
    broker = BandedRedisBroker(url=url, socket_timeout=1.5, db=7, max_connections=11, socket_keepalive=True)
    options, pool = options_of(broker), broker.client.connection_pool
    assert (options["socket_timeout"], pool.max_connections, pool.connection_class) == (1.5, 11, kind)
    assert (options["db"], options["password"], options["health_check_interval"]) == (3, "secret", 9), "the URL says it"
    pool.make_connection()  # takes all options


def test_what_is_said_of_the_client_beside_the_url_of_sentinels_has_its_effect() -> None:
    broker = BandedRedisBroker(url="redis+sentinel://host:26379/main/3", socket_timeout=1.5)
    assert (options_of(broker)["socket_timeout"], options_of(broker)["db"]) == (1.5, 3)


@pytest.mark.parametrize("name", ["client", "connection_pool"])
def test_an_argument_of_a_client_is_refused_beside_a_client(name: str, redis_url: str) -> None:
    client = client_of(redis_url)
    given: dict[str, Any] = {name: client if name == "client" else client.connection_pool}
    for broker in (BandedRedisBroker, BandedRedisBroker.from_settings):
        with pytest.raises(InvalidRequest, match=f"db: it has no effect beside {name}="):
            broker(**given, db=7)


TWICE = (
    ("url", "client"),
    ("url", "connection_pool"),
    ("url", "host"),
    ("client", "host"),
    ("connection_pool", "host"),
)


def test_a_server_is_named_once(redis_url: str, subtests: pytest.Subtests) -> None:
    for first, second in TWICE:
        with subtests.test(first=first, second=second):
            client = client_of(redis_url)
            named: dict[str, Any] = {
                "url": redis_url,
                "client": client,
                "connection_pool": client.connection_pool,
                "host": "elsewhere",
            }
            given = {name: named[name] for name in (first, second)}
            for broker in (BandedRedisBroker, BandedRedisBroker.from_settings):
                with pytest.raises(InvalidRequest, match=f"{second}: {first}= names a server, too"):
                    broker(**given)


def options_of(broker: BandedRedisBroker) -> dict[str, Any]:
    return broker.client.connection_pool.connection_kwargs
