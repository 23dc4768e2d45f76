"""The settings of signing in with OpenID Connect: what is refused, and that they name what the API knows."""

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from bandmaster.admin.auth.scopes import Scope
from bandmaster.configs.errors import SettingsError
from bandmaster.configs.oidc import BandName, OidcSettings, ScopeName
from bandmaster.configs.settings import load_settings
from bandmaster.scheduler.model.priority import Priority

ENOUGH = {
    "issuer": "https://login.example/realms/main",
    "client_id": "bandmaster",
    "public_url": "https://bandmaster.example/",
    "roles": {"admins": "admin"},
}


def given(**changed: Any) -> OidcSettings:
    return OidcSettings.model_validate(ENOUGH | changed)


def test_they_name_the_scopes_and_priorities_that_there_are() -> None:
    assert list(get_args(ScopeName)) == [each.value for each in Scope]
    assert list(get_args(BandName)) == [each.name for each in Priority]


def test_the_provider_sends_browsers_back_to_the_public_url() -> None:
    assert given().redirect_uri == "https://bandmaster.example/api/v1/session/oidc/callback"


UNFIT: tuple[tuple[dict[str, Any], str], ...] = (
    *(({"issuer": url}, "https://") for url in ("http://login.example", "login.example", "ftp://127.0.0.1", "")),
    *(({"issuer": f"https://login.example{each}"}, "without") for each in ("?a=b", "#a")),
    ({"issuer": "https://user:password@login.example"}, "without user"),
    ({"issuer": "https://login.example:x"}, "not a URL"),
    ({"public_url": "https://bandmaster.example/below"}, "no path"),
    ({"public_url": "http://bandmaster.example"}, "https://"),
    ({"public_url": ""}, "public_url"),
    ({"client_id": ""}, "client_id"),
    ({"roles": {}}, "default_scope"),
    ({"roles": {"admins": "root"}}, "'admin'"),
    ({"roles": "admins=admin"}, "JSON"),
    ({"default_scope": "all"}, "'read'"),
    ({"max_band": "highest"}, "'CRITICAL'"),
    ({"scopes": "profile"}, "openid"),
    ({"timeout_seconds": 31}, "30"),
)


def test_what_could_not_work_or_is_not_safe_is_refused(subtests: pytest.Subtests) -> None:
    for changed, told in UNFIT:
        with subtests.test(changed=changed, told=told):
            with pytest.raises(ValidationError) as refused:
                given(**changed)
            assert told in str(refused.value)
            assert "password" not in str(refused.value)


def test_on_this_machine_it_needs_no_tls() -> None:
    assert (
        given(issuer="http://127.0.0.1:8080", public_url="http://localhost:8640").public_url == "http://localhost:8640"
    )


def test_without_an_issuer_nothing_else_is_needed() -> None:
    assert OidcSettings().issuer is None
    assert OidcSettings(client_id="bandmaster").issuer is None


def test_they_are_read_from_variables_and_the_secret_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"roles": '{"admins": "admin"}', "client_secret": "a-secret", "max_band": "high", "gates": "tenant:*, x"}
    for name, value in (ENOUGH | texts).items():
        monkeypatch.setenv(f"BANDMASTER_OIDC__{name.upper()}", str(value))
    load_settings.cache_clear()
    oidc = load_settings().oidc
    assert (oidc.roles, oidc.max_band, oidc.gates) == ({"admins": "admin"}, "HIGH", ("tenant:*", "x"))
    assert oidc.client_secret is not None
    assert oidc.client_secret.get_secret_value() == "a-secret"
    assert "a-secret" not in repr(oidc) + oidc.model_dump_json()
    monkeypatch.setenv("BANDMASTER_OIDC__PUBLIC_URL", "x")
    load_settings.cache_clear()
    with pytest.raises(SettingsError, match=r"oidc\.public_url") as refused:
        load_settings()
    assert "a-secret" not in str(refused.value)
    load_settings.cache_clear()
