"""A provider that hangs, says nonsense, or is another one: logins are told so, and nobody else waits for it."""

import base64
import hashlib
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any, Final

import httpx
import pytest
from calling import V1, Api, Clock, api_on, signed_in
from providers import (
    AWAY,
    BEGIN,
    CALLBACK,
    CLIENT_ID,
    FAILED,
    SECRET,
    Change,
    Told,
    api_for,
    code_of,
    follow,
    outcome,
    query_of,
    sent_away,
    told_provider,
)

from bandmaster.admin.oidc.fetching import AT_ONCE, MOST_BYTES
from bandmaster.admin.oidc.metadata import KEPT_SECONDS
from bandmaster.admin.oidc.provider import Provider
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def provider(unix_seconds: Callable[[], int]) -> Iterator[Told]:
    with told_provider(unix_seconds) as told:
        yield told


@pytest.fixture
def here(api: Api, provider: Told) -> Iterator[Api]:
    with api_for(api, provider.url) as served:
        yield served


def test_a_provider_that_hangs_holds_up_nobody_else(api: Api) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with api_for(api, issuer, timeout_seconds=30) as served, ThreadPoolExecutor(AT_ONCE) as executor:

            def log_in() -> tuple[int, str]:
                with served.client(None) as client:
                    return code_of(client.get(BEGIN))

            waiting = [executor.submit(log_in) for _ in range(AT_ONCE)]
            # Each has a connection before it hangs.
            connections = [silent.accept()[0] for _ in range(AT_ONCE)]
            with signed_in(served, served.token("ann", "submit")) as client:
                for _ in range(10):
                    assert client.post(f"{V1}/executions/", json={"command": ["true"]}).status_code == 201
                assert client.get(f"{V1}/executions/").status_code == 200
                assert client.get("/readyz").status_code == 200
            with served.client(None) as client:
                assert code_of(client.get(BEGIN)) == AWAY, "told at once: there are too many"
            assert not any(each.done() for each in waiting)
            for each in connections:
                each.close()
            assert {each.result() for each in waiting} == {AWAY}
            assert log_in_at(silent, log_in, executor) == AWAY, "there is room again"


def log_in_at(silent: socket.socket, log_in: Callable[[], Any], executor: ThreadPoolExecutor) -> Any:
    again = executor.submit(log_in)
    silent.accept()[0].close()
    return again.result()


def test_a_provider_that_does_not_answer_is_given_up(api: Api) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        issuer = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with api_for(api, issuer, timeout_seconds=0.2) as served, served.client(None) as client:
            answer = client.get(BEGIN)
            assert code_of(answer) == AWAY
            assert answer.headers["Retry-After"]
            assert issuer not in answer.text
            assert "Set-Cookie" not in answer.headers


def test_nothing_waits_for_it_and_it_may_come_later(here: Api, provider: Told) -> None:
    assert provider.asked == [], "starting asks nobody"
    provider.metadata = lambda said: said.clear()
    assert outcome(here) == AWAY
    provider.metadata = lambda said: None
    assert outcome(here) == (200, None)


def test_what_it_says_of_itself_is_kept_for_an_hour(here: Api, provider: Told) -> None:
    clock, oidc = Clock(), here.services.oidc
    assert oidc is not None
    its = replace(oidc, provider=Provider(oidc.settings, clock=clock))
    with api_on(replace(here.services, oidc=its, closing=Event())) as url, httpx.Client(base_url=url) as client:

        def asked() -> int:
            assert client.get(BEGIN).status_code == 303
            return sum(path.endswith("/openid-configuration") for path, _, _ in provider.asked)

        assert [asked(), asked()] == [1, 1]
        clock.now += KEPT_SECONDS
        assert [asked(), asked()] == [2, 2]


def without(name: str) -> Change:
    return lambda said: said.pop(name)


def metadata(**changed: Any) -> Change:
    return lambda said: said.update(changed)


NO_SAFE_ONE: Final[dict[str, Change]] = {
    "another issuer": metadata(issuer="https://another.example"),
    "no issuer": metadata(issuer=None),
    "tokens without TLS": metadata(token_endpoint="http://login.example/token"),
    "tokens in a file": metadata(token_endpoint="file:///etc/passwd"),
    "keys at no URL": metadata(jwks_uri="http://[x"),
    "a program as a page": metadata(authorization_endpoint="javascript:alert(1)"),
    "too long": metadata(filler="x" * MOST_BYTES),
    "no keys": without("jwks_uri"),
}


def test_a_provider_that_is_another_or_no_safe_one_is_not_asked(here: Api, provider: Told) -> None:
    others = dict[str, object]()
    for name, provider.metadata in NO_SAFE_ONE.items():
        provider.asked.clear()
        got = outcome(here), [path for path, _, _ in provider.asked]
        if got != (AWAY, ["/.well-known/openid-configuration"]):
            others[name] = got
    assert others == {}


def says(**changed: Any) -> Change:
    return lambda said: said.update(changed)


NO_LOGIN: Final[list[tuple[Change, tuple[int, str | None]]]] = [
    (says(error="invalid_grant", error_description="<b>call us</b>"), FAILED),
    (says(error="invalid_client"), AWAY),
    (says(error="<b>call us</b>", error_description="\u2028\n"), AWAY),
    (says(error={"a": 1}), AWAY),
    (says(error=["x"]), AWAY),
    (says(id_token=None), FAILED),
    (says(id_token={"a": 1}), FAILED),
    (says(id_token="ü.ü.ü"), FAILED),
    (says(expires_in="soon"), AWAY),
    (says(access_token=5), (200, None)),
    (without("id_token"), FAILED),
]


def test_answers_for_a_code_that_are_none_sign_nobody_in(
    here: Api, provider: Told, caplog: pytest.LogCaptureFixture
) -> None:
    others = list[object]()
    for number, (provider.answer, expected) in enumerate(NO_LOGIN):
        if (got := outcome(here)) != expected:
            others.append((number, got, expected))
    assert others == []
    assert "call us" not in caplog.text
    assert SECRET not in caplog.text


def test_another_provider_may_not_send_the_browser_back(here: Api, provider: Told) -> None:
    with here.client(None) as client:

        def back(**said: str) -> httpx.Response:
            sent = client.get(sent_away(client))
            return client.get(CALLBACK, params=query_of(sent.headers["Location"]) | said)

        assert back(iss=provider.url).status_code == 200
        assert code_of(back(iss="https://another.example")) == FAILED
    provider.metadata = metadata(authorization_response_iss_parameter_supported=True)
    with api_for(here, provider.url) as strict:
        assert outcome(strict) == FAILED


@pytest.mark.parametrize(
    ("secret", "ways", "is_in_header", "is_in_body"),
    [
        (SECRET, None, True, False),
        (SECRET, ["client_secret_post"], False, True),
        (SECRET, ["client_secret_post", "client_secret_basic"], True, False),
        (None, None, False, False),
    ],
)
def test_the_secret_goes_to_the_provider_as_it_wants_it_and_the_code_with_its_verifier(
    api: Api, provider: Told, secret: str | None, ways: list[str] | None, is_in_header: bool, is_in_body: bool
) -> None:
    if ways is not None:
        provider.metadata = metadata(token_endpoint_auth_methods_supported=ways)
    with api_for(api, provider.url, client_secret=secret) as served:
        assert outcome(served) == (200, None)
        url = served.url
    sent = {path: (form, headers) for path, form, headers in provider.asked}
    form, headers = sent["/token"]
    basic = base64.b64encode(f"{CLIENT_ID}:{SECRET}".encode()).decode()
    assert (headers.get("Authorization") == f"Basic {basic}") is is_in_header
    assert (form.get("client_secret") == SECRET) is is_in_body
    assert (form["grant_type"], form["code"]) == ("authorization_code", "a-code")
    assert form["redirect_uri"] == f"{url}{CALLBACK}"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert sent["/authorization"][0]["code_challenge"] == challenge


def test_a_login_whose_provider_is_away_at_its_end_begins_anew(here: Api, provider: Told) -> None:
    with here.client(None) as client:
        sent = client.get(sent_away(client)).headers["Location"]
        provider.answer = says(error="server_error")
        assert code_of(client.get(sent)) == AWAY
        provider.answer = lambda said: None
        assert code_of(client.get(sent)) == FAILED, "it is over"
        assert follow(client).status_code == 200
        wait_until(lambda: client.get(f"{V1}/whoami").status_code == 200, what="a session")
