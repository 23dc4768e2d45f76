"""Signing in with an OpenID provider that others made: the whole way, who one is then, and whose login it is."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx
import pytest
from calling import V1, Api
from providers import (
    BEGIN,
    CALLBACK,
    CLIENT_ID,
    SECRET,
    SESSION,
    api_for,
    back_from,
    code_of,
    log_in,
    provider_of,
    query_of,
    sent_away,
    user_of,
)

from bandmaster.admin.api.cookies import CSRF_HEADER, LOGIN_NAME, NAME
from bandmaster.admin.auth.unguessable import Unguessable

ANN = {"sub": "11", "preferred_username": "ann", "groups": ["developers", "cooks"]}
BOB = {"sub": "22", "preferred_username": "bob", "groups": ["cooks"]}
OLA = {"sub": "33", "preferred_username": "ola", "groups": ["developers", "operators"]}
EVE = {"sub": "44", "preferred_username": "ann{}", "groups": "admins", "email": "ann@example.org"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with provider_of(ANN, BOB, OLA, EVE) as url:
        yield url


@pytest.fixture
def here(api: Api, issuer: str) -> Iterator[Api]:
    with api_for(api, issuer, owner_claim="preferred_username") as served:
        yield served


@pytest.fixture
def browser(here: Api) -> Iterator[httpx.Client]:
    with here.client(None) as client:
        yield client


def parts_of(cookie: str) -> set[str]:
    return {part.strip().lower() for part in cookie.split(";")[1:]}


def cookies_of(answer: httpx.Response) -> dict[str, str]:
    return {each.partition("=")[0]: each for each in answer.headers.get_list("Set-Cookie")}


def test_a_browser_signs_in_with_the_provider_and_has_the_rights_of_its_groups(here: Api, issuer: str) -> None:
    with here.client(None) as client:
        began = client.get(BEGIN)
        cookie = cookies_of(began)[LOGIN_NAME]
        assert {"httponly", "samesite=lax", "path=/", "max-age=600"} <= parts_of(cookie)
        away = began.headers["Location"]
        asked = query_of(away)
        assert away.startswith(f"{issuer}/oauth2/authorize?")
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == (
            "code",
            CLIENT_ID,
            "S256",
        )
        assert (asked["redirect_uri"], asked["scope"]) == (f"{here.url}{CALLBACK}", "openid profile")
        assert len({asked["state"], asked["nonce"], asked["code_challenge"], client.cookies[LOGIN_NAME]}) == 4
        answer = client.get(back_from(client, away, "11"))
        assert answer.status_code == 200
        cookie = cookies_of(answer)[NAME]
        assert {"httponly", "samesite=strict", "path=/", "max-age=43200"} <= parts_of(cookie)
        assert LOGIN_NAME not in client.cookies
        shown = client.get(SESSION).json()
        assert (shown["owner"], shown["scopes"], shown["max_band"]) == ("ann", ["submit"], "NORMAL")
        assert client.get(f"{V1}/whoami").json()["token_id"].startswith("oidc:")
        submission = {"command": ["true"]}
        assert code_of(client.post(f"{V1}/executions/", json=submission)) == (403, "csrf_token_needed")
        client.headers[CSRF_HEADER] = shown["csrf_token"]
        accepted = client.post(f"{V1}/executions/", json=submission)
        assert accepted.status_code == 201
        assert here.queue.views.meta(accepted.json()["execution_id"])["user"] == "ann"
        assert code_of(client.post(f"{V1}/executions/", json=submission | {"priority": "HIGH"})) == (403, "forbidden")
        assert code_of(client.get(f"{V1}/audit")) == (403, "forbidden")
        kept = client.cookies[NAME]
        assert client.delete(SESSION).status_code == 204
    with here.client(None, Cookie=f"{NAME}={kept}") as thief:
        assert code_of(thief.get(SESSION)) == (401, "unauthorized")


def test_the_browser_goes_on_from_a_page_of_ours_and_nowhere_else(browser: httpx.Client) -> None:
    back = back_from(browser, sent_away(browser), "11")
    # A redirection would still come from the provider's page, and no browser sends a strict cookie with that.
    answer = browser.get(f"{back}&next=https://evil.example&redirect_uri=https://evil.example")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "Location" not in answer.headers
    assert '<meta http-equiv="refresh" content="0;url=/">' in answer.text
    assert "evil" not in answer.text
    assert query_of(back)["code"] not in answer.text
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_the_redirection_back_is_not_made_of_what_the_browser_says(here: Api) -> None:
    for headers in ({"Host": "localhost"}, {"X-Forwarded-Host": "evil.example"}):
        with here.client(None, **headers) as client:
            assert query_of(sent_away(client))["redirect_uri"] == f"{here.url}{CALLBACK}"


def test_without_a_provider_in_the_settings_there_is_none(api: Api) -> None:
    with api.client(None) as client:
        for path in (BEGIN, f"{CALLBACK}?state=x&code=y"):
            answer = client.get(path)
            assert code_of(answer) == (404, "not_configured")
            assert "oidc.issuer" in answer.json()["detail"]


def test_a_login_counts_once(here: Api, browser: httpx.Client) -> None:
    kept = ""
    back = back_from(browser, sent_away(browser), "11")
    kept = browser.cookies[LOGIN_NAME]
    assert browser.get(back).status_code == 200
    with here.client(None, Cookie=f"{LOGIN_NAME}={kept}") as again:
        answer = again.get(back)
        assert code_of(answer) == (401, "login_failed")
        assert NAME not in cookies_of(answer)


def test_the_login_of_another_browser_does_not_count_and_stays_theirs(here: Api, browser: httpx.Client) -> None:
    back = back_from(browser, sent_away(browser), "11")
    with here.client(None) as victim:
        # A link with a login of the sender's, to one who began none, and to one who did.
        assert code_of(victim.get(back)) == (401, "login_failed")
        own = sent_away(victim)
        answer = victim.get(back)
        assert code_of(answer) == (401, "login_failed")
        assert NAME not in cookies_of(answer)
        assert victim.get(back_from(victim, own, "33")).status_code == 200
        assert victim.get(SESSION).json()["owner"] == "ola"
    assert browser.get(back).status_code == 200


def test_a_state_that_nobody_began_is_none(browser: httpx.Client) -> None:
    for state in ("", "x", "A" * 43, "a b"):
        sent_away(browser)
        assert code_of(browser.get(f"{CALLBACK}?state={state}&code=x")) == (401, "login_failed"), state


def test_what_no_provider_sends_is_refused_before_anything_is_taken(browser: httpx.Client) -> None:
    state = query_of(sent_away(browser))["state"]
    taken = list[tuple[str, str]]()
    for name, text in product(("state", "code", "iss", "error"), ("é", "%00", "A" * 4_097)):
        asked = {"state": state, "code": "x"} | {name: text}
        answer = browser.get(f"{CALLBACK}?{'&'.join(f'{key}={value}' for key, value in asked.items())}")
        if code_of(answer) != (422, "invalid"):
            taken.append((name, text))
    assert taken == []


def test_what_is_kept_of_a_login_is_no_code_and_a_code_no_login(here: Api, browser: httpx.Client) -> None:
    state = query_of(sent_away(browser))["state"]
    with here.client(None) as client:
        assert code_of(client.post(SESSION, json={"code": state})) == (401, "unauthorized")
    here.token("root", "admin")
    code = here.services.sessions.new_code(here.table.all()[0])
    assert code_of(browser.get(f"{CALLBACK}?state={code.text}&code=x")) == (401, "login_failed")
    assert here.services.sessions.meant_by(code) is not None


def test_what_goes_wrong_at_the_provider_is_told_in_our_words(browser: httpx.Client) -> None:
    answer = browser.get(back_from(browser, sent_away(browser), "11", action="deny") + "&state=")
    # That provider forgets the state, and so whose login it was.
    assert code_of(answer) == (401, "login_failed")
    state = query_of(sent_away(browser))["state"]
    given = {"state": state, "error": "access_denied", "error_description": "<b>call +1 555</b>"}
    answer = browser.get(CALLBACK, params=given)
    assert code_of(answer) == (403, "login_denied")
    assert "555" not in answer.text
    assert code_of(browser.get(CALLBACK, params=given)) == (401, "login_failed"), "it is over"
    state = query_of(sent_away(browser))["state"]
    answer = browser.get(CALLBACK, params={"state": state, "error": "call_1555"})
    assert code_of(answer) == (401, "login_failed")
    assert "1555" not in answer.text
    back = query_of(back_from(browser, sent_away(browser), "11"))
    answer = browser.get(CALLBACK, params=back | {"code": "another"})
    assert code_of(answer) == (401, "login_failed")


def test_who_is_in_no_group_that_means_something_is_told_so(api: Api, here: Api, issuer: str) -> None:
    with here.client(None) as client:
        answer = log_in(client, "22")
        assert code_of(answer) == (403, "forbidden")
        assert "oidc.roles" in answer.json()["detail"]
        assert NAME not in client.cookies
    with api_for(api, issuer, default_scope="read") as open_to_all, user_of(open_to_all, "22") as bob:
        assert bob.get(SESSION).json()["scopes"] == ["read"]
        assert code_of(bob.post(f"{V1}/executions/", json={"command": ["true"]})) == (403, "forbidden")


def test_several_groups_have_all_scopes_and_admins_every_priority(api: Api, issuer: str) -> None:
    with api_for(api, issuer) as served:
        with user_of(served, "33") as ola:
            shown = ola.get(SESSION).json()
            assert (shown["owner"], shown["scopes"]) == ("33", ["operate", "submit"])
        with user_of(served, "44") as eve:
            shown = eve.get(SESSION).json()
            assert (shown["owner"], shown["scopes"], shown["max_band"]) == ("44", ["admin"], "CRITICAL")


@pytest.mark.parametrize(
    ("settings", "user", "owner"),
    [
        ({}, "11", "11"),
        ({"owner_claim": "preferred_username", "owner_prefix": "sso-"}, "11", "sso-ann"),
        ({"owner_claim": "preferred_username"}, "44", None),
        ({"owner_claim": "nickname"}, "11", None),
        ({"owner_claim": "groups"}, "11", None),
        # Whoever may write an address into their own profile is not whose address it is.
        ({"owner_claim": "email", "scopes": "openid,email"}, "44", None),
    ],
)
def test_the_owner_is_what_the_claim_says_if_it_can_be_one(
    api: Api, issuer: str, settings: dict[str, Any], user: str, owner: str | None
) -> None:
    with api_for(api, issuer, **settings) as served, served.client(None) as client:
        answer = log_in(client, user)
        if owner is None:
            assert code_of(answer) == (403, "forbidden")
            assert "ann" not in answer.json()["detail"]
        else:
            assert client.get(SESSION).json()["owner"] == owner


def test_no_secret_is_told_or_kept(here: Api, browser: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    connection: Any = here.queue.scripts.client
    away = sent_away(browser)
    state, cookie = query_of(away)["state"], browser.cookies[LOGIN_NAME]
    digest = Unguessable.read(state)
    assert digest is not None
    assert 0 < connection.ttl(f"exec_queue:login:{digest.digest}") <= 600
    everything = " ".join(f"{key} {connection.dump(key)}" for key in connection.scan_iter("*"))
    for secret in (state, cookie, SECRET):
        assert secret not in everything
    code = query_of(back_from(browser, away, "11"))["code"]
    failed = browser.get(CALLBACK, params={"state": state, "code": f"{code}x"})
    assert code_of(failed) == (401, "login_failed")
    assert log_in(browser, "11").status_code == 200
    for secret in (state, cookie, SECRET, code, browser.cookies[NAME]):
        assert secret not in caplog.text
        assert secret not in failed.text
