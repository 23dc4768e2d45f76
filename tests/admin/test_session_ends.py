"""When a browser's session ends: idle or old, driven out, or with what Redis knew of it."""

import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import redis
from browsers import NO_QUOTAS, SESSION, SIGNED_IN, SIGNED_OUT, client, keys, status, token
from calling import V1, Api, api_with, served, signed_in
from faults_server.own_server import OwnServer

from bandmaster.admin.api.cookies import NAME
from bandmaster.admin.auth.unguessable import Unguessable
from waiting import wait_until

__all__ = ["client", "token"]


def test_it_ends_when_it_was_idle_for_long_and_requests_keep_it(api: Api, token: str, client: httpx.Client) -> None:
    connection: Any = api.queue.scripts.client
    (name,) = keys(api, "session")
    connection.pexpire(name, 60_000)
    assert status(client) == SIGNED_IN
    assert connection.pttl(name) > 3_500_000
    with api_with(api, session_idle_seconds=60, **NO_QUOTAS) as short, signed_in(short, token) as idle:
        kept = idle.cookies[NAME]
        (other,) = {*keys(api, "session")} - {name}
        assert 0 < connection.pttl(other) <= 60_000
        connection.pexpire(other, 1)  # as when its time is over
        wait_until(lambda: keys(api, "session") == [name], what="the end of what is idle")
        with api.client(None, Cookie=f"{NAME}={kept}") as late:
            assert status(late) == SIGNED_OUT


def test_it_ends_in_any_case_after_a_time(api: Api, token: str) -> None:
    connection: Any = api.queue.scripts.client
    with api_with(api, session_seconds=10, session_idle_seconds=3_600) as short, signed_in(short, token) as client:
        (name,) = keys(api, "session")
        assert status(client) == SIGNED_IN
        assert 0 < connection.pttl(name) <= 10_000, "requests do not keep it"
        # As after a server's clock went back.
        connection.persist(name)
        wait_until(lambda: status(client) == SIGNED_OUT, what="the end")


def test_who_signs_in_often_signs_out_the_oldest(api: Api, token: str) -> None:
    def sign_in(_: int) -> int:
        with bounded.client(None) as client:
            return client.post(SESSION, json={"token": token}).status_code

    with api_with(api, sessions_per_token=2) as bounded:
        with signed_in(bounded, bounded.token("bob", "read")) as bob:
            clients = [signed_in(bounded, token) for _ in range(4)]
            first, second, third, fourth = (each.__enter__() for each in clients)
            assert [status(each) for each in (first, second, third, fourth)] == [SIGNED_OUT] * 2 + [SIGNED_IN] * 2
            # One that has ended takes no place.
            assert third.delete(SESSION).status_code == 204
            with signed_in(bounded, token) as fifth:
                assert [status(each) for each in (fourth, fifth, bob)] == [SIGNED_IN] * 3
            for each in clients:
                each.__exit__(None, None, None)
        with ThreadPoolExecutor(16) as executor:
            assert set(executor.map(sign_in, range(16))) == {201}
        connection: Any = api.queue.scripts.client
        assert connection.zcard(f"exec_queue:sessions:{token.split('_')[1]}") == 2
        assert len(keys(api, "session")) == 3


def test_an_emptied_server_signs_everybody_out(api: Api, client: httpx.Client) -> None:
    api.queue.scripts.client.flushall()
    assert status(client) == SIGNED_OUT


RECORDS: Final[list[str]] = ["x", "1 a {}", "9999999999999 a {}", '9999999999999 a {"token_id": 1}']


def test_a_record_that_nobody_here_wrote_signs_nobody_in(api: Api, subtests: pytest.Subtests) -> None:
    for record in RECORDS:
        with subtests.test(record=record):
            session_id = Unguessable.new()
            api.queue.scripts.client.set(f"exec_queue:session:{session_id.digest}", record, ex=60)
            with api.client(None, Cookie=f"{NAME}={session_id.text}") as client:
                assert status(client) == SIGNED_OUT


@pytest.mark.slow
@pytest.mark.parametrize("way", ["hangs", "is killed"])
def test_nobody_is_signed_in_while_redis_is_away(sqlite_url: str, tmp_path: Path, way: str) -> None:
    own = OwnServer(tmp_path)
    own.start()
    with redis.Redis.from_url(own.url) as connection:
        for api in served(connection, sqlite_url, tmp_path):
            token = api.token("ann", "read")
            with signed_in(api, token) as client:
                assert status(client) == SIGNED_IN
                if way == "hangs":
                    own.signal(signal.SIGSTOP)
                else:
                    own.kill()
                assert status(client) == (503, "redis_unavailable")
                for answer in (
                    client.post(SESSION, json={"token": token}),
                    client.post(SESSION, json={"code": Unguessable.new().text}),
                    client.delete(SESSION),
                ):
                    assert (answer.status_code, answer.json()["code"]) == (503, "redis_unavailable")
                    assert "Set-Cookie" not in answer.headers
                # Who sends the token needs no Redis for that.
                assert client.get(f"{V1}/whoami", headers={"Authorization": f"Bearer {token}"}).status_code == 200
                if way == "hangs":
                    own.signal(signal.SIGCONT)
                else:
                    own.start()
                with signed_in(api, token) as again:
                    assert status(again) == SIGNED_IN
    own.end()
