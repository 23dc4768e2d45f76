"""The session of a provider's user: for whom it stands from one request to the next, its bounds, what is told of it."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import httpx
import pytest
from calling import V1, Api, api_on
from providers import BEGIN, SESSION, Told, api_for, code_of, follow, query_of, sent_away, told_provider

from bandmaster.admin.api.cookies import CSRF_HEADER, LOGIN_NAME, NAME
from bandmaster.admin.auth.standing_for import OfUser
from bandmaster.admin.auth.users import Users
from bandmaster.admin.oidc.opened import open_oidc
from bandmaster.configs.api import ApiSettings
from bandmaster.configs.oidc import OidcSettings

pytestmark = pytest.mark.slow

SUBMIT = f"{V1}/executions/"


@pytest.fixture
def provider(unix_seconds: Callable[[], int]) -> Iterator[Told]:
    with told_provider(unix_seconds) as told:
        yield told


@pytest.fixture
def here(api: Api, provider: Told) -> Iterator[Api]:
    with api_for(api, provider.url) as served:
        yield served


@contextmanager
def user(api: Api, **headers: str) -> Generator[httpx.Client]:
    with api.client(None, **headers) as client:
        answer = follow(client)
        assert answer.status_code == 200, answer.text
        client.headers[CSRF_HEADER] = client.get(SESSION, follow_redirects=True).json()["csrf_token"]
        yield client


@contextmanager
def other_settings(api: Api, **changed: Any) -> Generator[str]:
    """Serve the same API with other settings, as after a restart; its URL."""
    assert api.services.oidc is not None
    settings = OidcSettings.model_validate(api.services.oidc.settings.model_dump() | changed)
    oidc = open_oidc(settings, api.services.queue.scripts)
    with api_on(replace(api.services, oidc=oidc, closing=Event())) as url:
        yield url


def moved(client: httpx.Client, url: str) -> httpx.Response:
    return client.get(f"{url}{SESSION}", headers={"Cookie": f"{NAME}={client.cookies[NAME]}"})


def test_the_rights_of_a_living_session_follow_the_settings(here: Api) -> None:
    with user(here) as client:
        assert client.get(SESSION).json()["scopes"] == ["submit"]
        with other_settings(here, roles={"developers": "read"}, max_band="high", gates="tenant:*") as url:
            shown = moved(client, url).json()
            assert (shown["scopes"], shown["max_band"], shown["gates"]) == (["read"], "HIGH", ["tenant:*"])
        for change in ({"roles": {"others": "admin"}}, {"issuer": None}, {"issuer": "https://other.example"}):
            with other_settings(here, **change) as url:
                assert code_of(moved(client, url)) == (401, "unauthorized"), change
        with other_settings(here, client_id="another") as url:
            assert code_of(moved(client, url)) == (401, "unauthorized")
        assert client.get(SESSION).status_code == 200


def test_who_may_name_gates_and_how_urgent_they_may_be_is_held(api: Api, provider: Told) -> None:
    with api_for(api, provider.url, max_band="HIGH", gates="tenant:*") as served, user(served) as client:
        for given, status in (
            ({"priority": "HIGH", "gates": ["tenant:1"]}, 201),
            ({"priority": "CRITICAL"}, 403),
            ({"gates": ["licence"]}, 403),
        ):
            answer = client.post(SUBMIT, json={"command": ["true"], **given})
            assert answer.status_code == status, answer.text


def test_a_login_ends_the_session_that_the_browser_had(here: Api) -> None:
    with user(here) as client:
        first = client.cookies[NAME]
        away = sent_away(client)
        # Coming from a page of the provider's, a browser does not send a strict cookie.
        with here.client(None, Cookie=f"{LOGIN_NAME}={client.cookies[LOGIN_NAME]}") as coming:
            assert coming.get(coming.get(away).headers["Location"]).status_code == 200
            assert coming.cookies[NAME] != first
        assert code_of(client.get(SESSION)) == (401, "unauthorized")


def test_the_sessions_of_one_user_are_bounded_and_no_other_s(api: Api, provider: Told) -> None:
    bounded = ApiSettings(sessions_per_token=2, requests_per_minute=0, failed_logins_per_minute=0)
    with api_for(api, provider.url, settings=bounded) as served:
        provider.claims = lambda claims: claims.update(sub="2")
        with user(served) as other:
            provider.claims = lambda claims: None
            with user(served) as first, user(served) as second, user(served) as third:
                found = [each.get(SESSION).status_code for each in (first, second, third, other)]
                assert found == [401, 200, 200, 200]


def test_a_user_has_the_quotas_of_a_token(api: Api, provider: Told) -> None:
    few = ApiSettings(requests_per_minute=6, failed_logins_per_minute=0)
    with api_for(api, provider.url, settings=few) as served, user(served) as client:
        assert [client.get(SESSION).status_code for _ in range(5)] == [200] * 4 + [429]
        assert code_of(follow(client)) == (429, "rate_limited"), "of all sessions together"


def test_beginning_many_logins_is_bounded_by_address(api: Api, provider: Told) -> None:
    few = ApiSettings(failed_logins_per_minute=3)
    with api_for(api, provider.url, settings=few) as served, served.client(None) as client:
        assert [client.get(BEGIN).status_code for _ in range(4)] == [303] * 3 + [429]


def test_over_tls_both_cookies_go_over_tls_only(api: Api, provider: Told) -> None:
    proxied = ApiSettings(trusted_proxies=("127.0.0.1",))
    with (
        api_for(api, provider.url, settings=proxied) as served,
        served.client(None, **{"X-Forwarded-Proto": "https"}) as client,
    ):
        began = client.get(BEGIN)
        cookie = began.headers["Set-Cookie"]
        assert cookie.startswith(f"__Host-{LOGIN_NAME}=")
        assert "; Secure" in cookie
        back = client.get(began.headers["Location"]).headers["Location"]
        answer = client.get(back, headers={"Cookie": cookie.partition(";")[0]})
        kept = [each for each in answer.headers.get_list("Set-Cookie") if each.startswith(f"__Host-{NAME}=")]
        assert len(kept) == 1
        assert "; Secure" in kept[0]


def test_the_audit_has_who_signed_in_and_what_they_did(here: Api, provider: Told) -> None:
    provider.claims = lambda claims: claims.update(groups=["operators"])
    with user(here) as client:
        assert client.put(f"{V1}/limits/tenant:1", json={"limit": 1}, headers={"If-Match": "*"}).status_code == 200
        name = f"1 (login {client.get(f'{V1}/whoami').json()['token_id']}, 127.0.0.1)"
        assert client.delete(SESSION).status_code == 204
    here.catch_up()
    with here.client(here.token("root", "admin")) as admin:
        entries = admin.get(f"{V1}/audit?kind=session&kind=control").json()["entries"]
    assert [each["verb"] for each in entries] == ["sign_out", "limit", "sign_in"]
    assert {each["by"] for each in entries} == {name}


def test_a_stream_ends_with_the_session(here: Api, provider: Told) -> None:
    with user(here) as client, client.stream("GET", f"{V1}/events") as events:
        pieces = events.iter_bytes()
        next(pieces)
        assert client.delete(SESSION).status_code == 204
        assert list(pieces) is not None, "it ends"


def test_a_group_may_be_inside_of_another_claim() -> None:
    def groups(claim: str, **claims: Any) -> tuple[str, ...]:
        settings = OidcSettings(groups_claim=claim, roles={"wanted": "read"})
        return Users(settings).read({"iss": "https://login.example", "sub": "1", **claims}).groups

    assert groups("realm_access.roles", realm_access={"roles": ["a", "b"]}) == ("a", "b")
    assert groups("a.b", **{"a.b": ["exact"], "a": {"b": ["inside"]}}) == ("exact",)
    for wrong in (None, 5, {"wanted": 1}, [["wanted"], None, 5], ["x" * 257]):
        assert groups("groups", groups=wrong) == ()
    assert groups("groups.more", groups="wanted") == ()
    many = groups("groups", groups=[f"a-{number}" for number in range(1_000)] + ["wanted"])
    assert (len(many), many[0]) == (200, "wanted"), "those that mean something first"


def test_users_of_two_providers_are_two_even_with_the_same_name() -> None:
    def of(issuer: str, subject: str) -> str:
        return OfUser(issuer=issuer, client_id="x", subject=subject, owner="ann", groups=()).whose

    names = {of("https://a.example", "1"), of("https://b.example", "1"), of("https://a.example", "2")}
    assert len(names) == 3
    assert all(name.startswith("oidc:") and " " not in name for name in names)


def test_where_a_browser_is_sent_says_nothing_of_who_it_is(here: Api) -> None:
    with here.client(None) as client:
        first, second = query_of(sent_away(client)), query_of(sent_away(client))
        for name in ("state", "nonce", "code_challenge"):
            assert len(first[name]) >= 43
            assert first[name] != second[name]
