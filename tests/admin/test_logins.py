"""Logins: codes, what is no login, what is told of them, and how many there may be."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx
import pytest
from browsers import SESSION, SIGNED_IN, client, keys, known_token, revoke, status, token
from calling import V1, Api, api_with, signed_in

from bandmaster.admin.api.cookies import CSRF_HEADER, NAME
from bandmaster.admin.auth.unguessable import Unguessable
from waiting import wait_until

__all__ = ["client", "token"]


def test_a_code_signs_in_once(api: Api, token: str) -> None:
    code = api.services.sessions.new_code(known_token(api, token)).text

    def sign_in(_: int) -> int:
        with api.client(None) as client:
            return client.post(SESSION, json={"code": code}).status_code

    with ThreadPoolExecutor(8) as executor:
        answers = sorted(executor.map(sign_in, range(8)))
    assert answers == [201] + [401] * 7
    assert len(keys(api, "session")) == 1


def test_a_code_that_is_wrong_or_too_old_or_of_a_revoked_token_is_none(api: Api, token: str) -> None:
    code = api.services.sessions.new_code(known_token(api, token)).text
    old = api.services.sessions.new_code(known_token(api, token)).text
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


NO_LOGINS: Final[list[dict[str, Any]]] = [
    {},
    {"token": "bm_x_y", "code": "x"},
    {"token": 1},
    {"code": ["x"]},
    {"token": None},
    {"password": "x"},
]


def test_what_is_no_login_is_told_so_without_being_repeated(api: Api, subtests: pytest.Subtests) -> None:
    for body in NO_LOGINS:
        with subtests.test(body=body), api.client(None) as client:
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
        entries = admin.get(f"{V1}/audit?kind=session").json()["entries"]
    assert [(each["verb"], each["before"], each["after"]) for each in entries] == [
        ("sign_out", "signed in", None),
        ("sign_in", None, "signed in"),
    ]
    assert {each["by"] for each in entries} == {f"ann (token {token.split('_')[1]}, 127.0.0.1)"}
    assert len({each["subject"] for each in entries}) == 1
    journal = str([each.fields for each in api.queue.journal.entries()])
    for secret in (cookie, csrf, token.split("_", 2)[2]):
        assert secret not in journal
        assert secret not in caplog.text
    # People who sign in drive no change of an operator's out of those that are kept.
    assert api.queue.journal.changes(10) == []


def test_failed_logins_of_all_kinds_count_together_and_lock_nobody_out(api: Api, token: str) -> None:
    with api_with(api, failed_logins_per_minute=6) as limited, signed_in(limited, token) as client:
        code = api.services.sessions.new_code(known_token(api, token)).text
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
