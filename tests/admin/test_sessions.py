"""A browser's session: how it begins, what it may, when it ends, and what is told of it."""

import signal
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from calling import V1, Api, Clock, api_on, api_with, served, signed_in
from faults_server.own_server import OwnServer

from bandmaster.admin.api.cookies import CSRF_HEADER, NAME
from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.unguessable import Unguessable
from waiting import wait_until

SESSION = f"{V1}/session"
SUBMIT = f"{V1}/executions/"


def keys(api: Api, kind: str) -> list[str]:
    client: Any = api.queue.scripts.client
    return [key.decode() for key in client.scan_iter(f"exec_queue:{kind}:*")]


def revoke(api: Api, token: str) -> None:
    api.table.revoke(token.split("_")[1], by="a test")


def status(client: httpx.Client) -> tuple[int, str | None]:
    answer = client.get(SESSION)
    return answer.status_code, answer.json().get("code")


NO_QUOTAS = {"requests_per_minute": 0, "failed_logins_per_minute": 0}
SIGNED_IN = (200, None)
SIGNED_OUT = (401, "unauthorized")


@pytest.fixture
def token(api: Api) -> str:
    return api.token("ann", "submit", max_band="HIGH", gates=("tenant:*",))


@pytest.fixture
def client(api: Api, token: str) -> Iterator[httpx.Client]:
    with signed_in(api, token) as client:
        yield client


def test_a_token_is_exchanged_for_a_cookie_that_no_program_can_read(api: Api, token: str) -> None:
    with api.client(None) as client:
        answer = client.post(SESSION, json={"token": token})
        assert answer.status_code == 201
        cookie = answer.headers["Set-Cookie"]
        parts = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert cookie.startswith(f"{NAME}=")
        assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= parts
        assert not any(part.startswith("domain") for part in parts)
        assert "secure" not in parts, "it would not be kept without TLS"
        shown = client.get(SESSION).json()
        assert shown == answer.json()
        assert (shown["owner"], shown["scopes"], shown["max_band"]) == ("ann", ["submit"], "HIGH")
        assert (shown["gates"], shown["idle_seconds"], shown["expires_at"]) == (["tenant:*"], 3_600, None)
        assert client.get(f"{V1}/whoami").json()["token_id"] == token.split("_")[1]
        assert token not in answer.text


def test_over_tls_it_goes_over_tls_only_and_to_this_host_only(api: Api, token: str) -> None:
    with (
        api_with(api, trusted_proxies=["127.0.0.1"]) as behind,
        behind.client(None, **{"X-Forwarded-Proto": "https"}) as client,
    ):
        answer = client.post(SESSION, json={"token": token})
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(f"__Host-{NAME}=")
        assert "; Secure" in cookie
        assert "; Path=/" in cookie
        # Not over plain HTTP, where anybody on the way could have set it.
        kept = cookie.split(";")[0]
        assert client.get(SESSION, headers={"Cookie": kept}).status_code == 200
        assert client.get(SESSION, headers={"Cookie": kept.removeprefix("__Host-")}).status_code == 401


def test_redis_has_no_id_no_code_and_no_token(api: Api, token: str, client: httpx.Client) -> None:
    connection: Any = api.queue.scripts.client
    code = api.services.sessions.new_code(_token(api, token))
    found = [key.decode() for key in connection.scan_iter("*")]
    everything = " ".join(found) + " ".join(str(connection.dump(key)) for key in found)
    for secret in (client.cookies[NAME], token.split("_", 2)[2], code.text, client.headers[CSRF_HEADER]):
        assert secret not in everything
    for kind in ("session", "sessions", "login"):
        assert all(0 < connection.ttl(key) <= 43_200 for key in keys(api, kind))


def _token(api: Api, text: str) -> Any:
    return next(each for each in api.table.all() if each.token_id == text.split("_")[1])


def test_each_login_has_a_new_id_and_ends_the_session_before(api: Api, token: str, client: httpx.Client) -> None:
    planted = client.cookies[NAME]
    again = client.post(SESSION, json={"token": token})
    assert again.status_code == 201
    assert client.cookies[NAME] != planted
    assert again.json()["csrf_token"] != client.headers[CSRF_HEADER]
    with api.client(None, Cookie=f"{NAME}={planted}") as first:
        assert status(first) == SIGNED_OUT
    # One that nobody began is not taken up.
    chosen = Unguessable.new().text
    with api.client(None, Cookie=f"{NAME}={chosen}") as client:
        answer = client.post(SESSION, json={"token": token})
        assert chosen not in answer.headers["Set-Cookie"]
        assert status(client) == SIGNED_OUT


def test_a_change_needs_the_sessions_own_csrf_token(api: Api, client: httpx.Client) -> None:
    given = client.headers.pop(CSRF_HEADER)
    execution = {"command": ["true"]}
    for wrong in (None, b"", b"x", "é".encode("latin-1"), "é".encode(), given.encode() + b"x"):
        headers = {} if wrong is None else {CSRF_HEADER.encode(): wrong}
        answer = client.post(SUBMIT, json=execution, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf_token_needed")
    assert client.post(SUBMIT, json=execution, headers={CSRF_HEADER: given}).status_code == 201
    answer = client.post(SUBMIT, json=execution, headers={CSRF_HEADER: given, "Origin": "http://evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")


def test_of_a_token_and_a_cookie_the_token_counts(api: Api, client: httpx.Client) -> None:
    other = {"Authorization": f"Bearer {api.token('bob', 'read')}"}
    assert client.get(f"{V1}/whoami", headers=other).json()["owner"] == "bob"
    assert client.get(SESSION, headers=other).status_code == 404
    assert client.post(SUBMIT, json={"command": ["true"]}, headers=other).status_code == 403
    assert client.get(f"{V1}/whoami", headers={"Authorization": "Bearer bm_x_y"}).status_code == 401
    # What a proxy asks for is none of ours.
    assert client.get(f"{V1}/whoami", headers={"Authorization": "Basic YTpi"}).json()["owner"] == "ann"


def test_signing_out_ends_it_at_once_in_every_process(api: Api, client: httpx.Client) -> None:
    with api_on(api.services) as another, httpx.Client(base_url=another, cookies=dict(client.cookies)) as elsewhere:
        assert status(elsewhere) == SIGNED_IN
        kept = client.cookies[NAME]
        answer = client.delete(SESSION)
        assert answer.status_code == 204
        assert 'bandmaster_session=""' in answer.headers["Set-Cookie"]
        assert NAME not in client.cookies
        assert status(elsewhere) == SIGNED_OUT
        with api.client(None, Cookie=f"{NAME}={kept}") as thief:
            assert status(thief) == SIGNED_OUT
    assert keys(api, "session") == []


def test_a_session_ends_with_its_token(api: Api, token: str, client: httpx.Client) -> None:
    revoke(api, token)
    api.services.keeper.forget(token.split("_")[1])
    assert status(client) == SIGNED_OUT


def test_a_session_has_the_rights_that_its_token_has_now(api: Api, client: httpx.Client, token: str) -> None:
    with api.database.writing() as connection:
        connection.exec_driver_sql("UPDATE tokens SET scopes = 'read'")
    api.services.keeper.forget(token.split("_")[1])
    assert client.get(SESSION).json()["scopes"] == ["read"]
    assert client.post(SUBMIT, json={"command": ["true"]}).status_code == 403
    # Another secret under the same id is another token.
    with api.database.writing() as connection:
        connection.exec_driver_sql("UPDATE tokens SET secret_digest = 'another'")
    api.services.keeper.forget(token.split("_")[1])
    assert status(client) == SIGNED_OUT


def test_a_token_that_expires_ends_its_sessions(api: Api) -> None:
    wall = Clock()
    keeper = Keeper(table=api.table, wall_clock=wall)
    with _with_keeper(api, keeper) as other:
        token = other.token("ann", "read")
        with other.database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE tokens SET expires_ms = {int(wall.now * 1000) + 60_000}")
        with signed_in(other, token) as client:
            assert status(client) == SIGNED_IN
            wall.now += 60
            assert status(client) == SIGNED_OUT


@contextmanager
def _with_keeper(api: Api, keeper: Keeper) -> Generator[Api]:
    services = replace(api.services, keeper=keeper)
    with api_on(services) as url:
        yield replace(api, url=url, services=services)


def test_it_ends_when_it_was_idle_for_long_and_requests_keep_it(api: Api, token: str, client: httpx.Client) -> None:
    connection: Any = api.queue.scripts.client
    (name,) = keys(api, "session")
    connection.pexpire(name, 60_000)
    assert status(client) == SIGNED_IN
    assert connection.pttl(name) > 3_500_000
    with api_with(api, session_idle_seconds=1, **NO_QUOTAS) as short, signed_in(short, token) as idle:
        kept = idle.cookies[NAME]
        assert len(keys(api, "session")) == 2
        wait_until(lambda: keys(api, "session") == [name], what="the end of what is idle")
        with api.client(None, Cookie=f"{NAME}={kept}") as late:
            assert status(late) == SIGNED_OUT


def test_it_ends_in_any_case_after_a_time(api: Api, token: str) -> None:
    connection: Any = api.queue.scripts.client
    with api_with(api, session_seconds=2, session_idle_seconds=3_600) as short, signed_in(short, token) as client:
        (name,) = keys(api, "session")
        assert status(client) == SIGNED_IN
        assert 0 < connection.pttl(name) <= 2_000, "requests do not keep it"
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


def test_a_code_signs_in_once(api: Api, token: str) -> None:
    code = api.services.sessions.new_code(_token(api, token)).text

    def sign_in(_: int) -> int:
        with api.client(None) as client:
            return client.post(SESSION, json={"code": code}).status_code

    with ThreadPoolExecutor(8) as executor:
        answers = sorted(executor.map(sign_in, range(8)))
    assert answers == [201] + [401] * 7
    assert len(keys(api, "session")) == 1


def test_a_code_that_is_wrong_or_too_old_or_of_a_revoked_token_is_none(api: Api, token: str) -> None:
    code = api.services.sessions.new_code(_token(api, token)).text
    old = api.services.sessions.new_code(_token(api, token)).text
    connection: Any = api.queue.scripts.client
    digest = Unguessable.read(old)
    assert digest is not None
    assert 0 < connection.ttl(f"exec_queue:login:{digest.digest}") <= 600
    connection.pexpire(f"exec_queue:login:{digest.digest}", 1)
    wait_until(lambda: len(keys(api, "login")) == 1, what="the end of a code")
    with api.client(None) as client:
        for wrong in (old, "x", "A" * 43, code[:-1] + ("A" if code[-1] != "A" else "B")):
            answer = client.post(SESSION, json={"code": wrong})
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), wrong
            assert "Set-Cookie" not in answer.headers
        revoke(api, token)
        api.services.keeper.forget(token.split("_")[1])
        assert client.post(SESSION, json={"code": code}).status_code == 401


@pytest.mark.parametrize(
    "body", [{}, {"token": "bm_x_y", "code": "x"}, {"token": 1}, {"code": ["x"]}, {"token": None}, {"password": "x"}]
)
def test_what_is_no_login_is_told_so_without_being_repeated(api: Api, body: dict[str, Any]) -> None:
    with api.client(None) as client:
        answer = client.post(SESSION, json=body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        assert "bm_x_y" not in answer.text
        # As a form of any page could send it.
        sent = client.post(SESSION, content=b'{"token": "x"}', headers={"Content-Type": "text/plain"})
        assert sent.status_code == 422


def test_the_audit_has_who_signed_in_and_out_and_no_secret(
    api: Api, token: str, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    cookie, csrf = client.cookies[NAME], client.headers[CSRF_HEADER]
    assert client.delete(SESSION).status_code == 204
    api.catch_up()
    with api.client(api.token("root", "admin")) as admin:
        entries = admin.get(f"{V1}/audit").json()["entries"]
    assert [(each["verb"], each["before"], each["after"]) for each in entries] == [
        ("sign_out", "signed in", None),
        ("sign_in", None, "signed in"),
    ]
    assert {each["by"] for each in entries} == {f"ann (token {token.split('_')[1]}, 127.0.0.1)"}
    assert len({each["subject"] for each in entries}) == 1
    journal = str([each.fields for each in api.queue.journal.entries()])
    for secret in (cookie, csrf, token.split("_")[2]):
        assert secret not in journal
        assert secret not in caplog.text
    # People who sign in drive no change of an operator's out of those that are kept.
    assert api.queue.journal.changes(10) == []


def test_failed_logins_of_all_kinds_count_together_and_lock_nobody_out(api: Api, token: str) -> None:
    with api_with(api, failed_logins_per_minute=6) as limited, signed_in(limited, token) as client:
        code = api.services.sessions.new_code(_token(api, token)).text
        with limited.client(None) as stranger:
            ways: list[Any] = [
                lambda: stranger.post(SESSION, json={"token": "bm_x_y"}),
                lambda: stranger.post(SESSION, json={"code": Unguessable.new().text}),
                lambda: stranger.get(SESSION, headers={"Cookie": f"{NAME}={Unguessable.new().text}"}),
            ]
            assert [way().status_code for way in ways * 2] == [401] * 6
            assert [way().status_code for way in ways] == [429] * 3
            # Not looked up, and not used up either.
            assert stranger.post(SESSION, json={"code": code}).status_code == 429
            assert status(client) == SIGNED_IN
            assert stranger.post(SESSION, json={"token": token}).status_code == 201
    with api.client(None) as elsewhere:
        assert elsewhere.post(SESSION, json={"code": code}).status_code == 201


def test_a_session_counts_in_the_quota_of_its_token(api: Api, token: str) -> None:
    with api_with(api, requests_per_minute=5) as limited, signed_in(limited, token) as client:
        assert [client.get(SESSION).status_code for _ in range(5)] == [200] * 4 + [429]
        answer = client.post(SESSION, json={"token": token})
        assert (answer.status_code, answer.json()["code"]) == (429, "rate_limited")


def test_an_emptied_server_signs_everybody_out(api: Api, client: httpx.Client) -> None:
    api.queue.scripts.client.flushall()
    assert status(client) == SIGNED_OUT


@pytest.mark.parametrize("record", ["x", "1 a {}", "9999999999999 a {}", '9999999999999 a {"token_id": 1}'])
def test_a_record_that_nobody_here_wrote_signs_nobody_in(api: Api, record: str) -> None:
    session_id = Unguessable.new()
    api.queue.scripts.client.set(f"exec_queue:session:{session_id.digest}", record, ex=60)
    with api.client(None, Cookie=f"{NAME}={session_id.text}") as client:
        assert status(client) == SIGNED_OUT


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
