"""A browser's session: how it begins, what it may, and with which token it ends."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
from browsers import SESSION, SIGNED_IN, SIGNED_OUT, SUBMIT, client, keys, known_token, revoke, status, token
from calling import V1, Api, Clock, api_on, api_with, signed_in

from bandmaster.admin.api.cookies import CSRF_HEADER, NAME
from bandmaster.admin.auth.keeper import Keeper
from bandmaster.admin.auth.unguessable import Unguessable

__all__ = ["client", "token"]


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
    code = api.services.sessions.new_code(known_token(api, token))
    found = [key.decode() for key in connection.scan_iter("*")]
    everything = " ".join(found) + " ".join(str(connection.dump(key)) for key in found)
    for secret in (client.cookies[NAME], token.split("_", 2)[2], code.text, client.headers[CSRF_HEADER]):
        assert secret not in everything
    for kind in ("session", "sessions", "login"):
        assert all(0 < connection.ttl(key) <= 43_200 for key in keys(api, kind))


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
