"""ID tokens that lie: of another login, for another API, by another, changed, unsigned, signed with what is public."""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from calling import Api
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from providers import AWAY, CLIENT_ID, FAILED, Change, Sign, Told, api_for, outcome, part, told_provider

pytestmark = pytest.mark.slow

ANOTHER = RSAKey.generate_key(2048, {"kid": "first"})


@pytest.fixture
def provider(unix_seconds: Callable[[], int]) -> Iterator[Told]:
    with told_provider(unix_seconds) as told:
        yield told


@pytest.fixture
def here(api: Api, provider: Told) -> Iterator[Api]:
    with api_for(api, provider.url) as served:
        yield served


def with_claims(**changed: Any) -> Change:
    return lambda claims: claims.update(changed)


def later(name: str, seconds: int) -> Change:
    return lambda claims: claims.update({name: claims["iat"] + seconds})


OF_ANOTHER_LOGIN: Final[list[dict[str, Any]]] = [
    {"iss": "https://another.example"},
    {"iss": None},
    {"aud": "another"},
    {"aud": None},
    {"aud": []},
    {"aud": [CLIENT_ID, "another"]},
    {"aud": [CLIENT_ID, "another"], "azp": "another"},
    {"azp": "another"},
    {"nonce": "of another login"},
    {"nonce": None},
    {"sub": None},
    {"sub": ""},
    {"sub": 5},
    {"sub": "x" * 256},
    {"exp": None},
    {"exp": "tomorrow"},
    {"iat": None},
    {"at_hash": "of another"},
]
OF_ANOTHER_TIME: Final = [("exp", -61), ("nbf", 120), ("iat", 120)]


def test_claims_that_are_not_of_this_login_are_refused(here: Api, provider: Told) -> None:
    changes = [(str(each), with_claims(**each)) for each in OF_ANOTHER_LOGIN]
    changes += [(f"{name} {seconds:+}", later(name, seconds)) for name, seconds in OF_ANOTHER_TIME]
    others = dict[str, object]()
    for name, provider.claims in changes:
        if (got := outcome(here)) != FAILED:
            others[name] = got
    assert others == {}


def test_clocks_may_differ_by_a_minute(here: Api, provider: Told) -> None:
    for provider.claims in (later("exp", -50), later("iat", 50), with_claims(aud=[CLIENT_ID], azp=CLIENT_ID)):
        assert outcome(here) == (200, None)


def unsigned(claims: dict[str, Any], _: RSAKey) -> str:
    return f"{part({'alg': 'none'})}.{part(claims)}."


def by_what_is_public(claims: dict[str, Any], key: RSAKey) -> str:
    """An HMAC, whose secret is the public key: for who takes whatever algorithm the token names."""
    signed = f"{part({'alg': 'HS256', 'kid': key.kid})}.{part(claims)}"
    mac = hmac.digest(key.as_pem(private=False), signed.encode(), hashlib.sha256)
    return f"{signed}.{part(mac)}"


def by_another(claims: dict[str, Any], _: RSAKey) -> str:
    return jwt.encode({"alg": "RS256", "kid": "first"}, claims, ANOTHER, ["RS256"])


def changed(claims: dict[str, Any], key: RSAKey) -> str:
    header, _, signature = jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key, ["RS256"]).split(".")
    return f"{header}.{part(claims | {'groups': ['admins']})}.{signature}"


def by_a_key_it_brings(claims: dict[str, Any], _: RSAKey) -> str:
    header = {"alg": "RS256", "jwk": ANOTHER.as_dict(private=False)}
    return jwt.encode(header, claims, ANOTHER, ["RS256"])


def with_something_to_understand(claims: dict[str, Any], key: RSAKey) -> str:
    signed = f"{part({'alg': 'RS256', 'kid': key.kid, 'crit': ['what'], 'what': 1})}.{part(claims)}"
    private: Any = key.private_key
    return f"{signed}.{part(private.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def instead(text: str) -> Sign:
    return lambda claims, key: text


UNSIGNED: Final[dict[str, Sign]] = {
    each.__name__: each
    for each in (unsigned, by_what_is_public, by_another, changed, by_a_key_it_brings, with_something_to_understand)
} | {"empty": instead(""), "no JSON": instead("a.b.c"), "long": instead("x" * 200_000)}


def test_what_the_provider_did_not_sign_is_refused(here: Api, provider: Told) -> None:
    others = dict[str, object]()
    for name, provider.sign in UNSIGNED.items():
        if (got := outcome(here)) != FAILED:
            others[name] = got
    assert others == {}


def test_a_secret_that_the_provider_lists_signs_nothing(here: Api, provider: Told) -> None:
    secret: Any = {"kty": "oct", "kid": "secret", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}
    provider.listed = [secret, {"kty": "unknown"}, 5, provider.key.as_dict(private=False)]
    assert outcome(here) == (200, None)
    shared = OctKey.import_key(secret)
    provider.sign = lambda claims, key: jwt.encode({"alg": "HS256", "kid": "secret"}, claims, shared, ["HS256"])
    assert outcome(here) == FAILED


def test_a_key_that_is_new_is_asked_for_and_one_that_is_gone_counts_no_more(here: Api, provider: Told) -> None:
    assert outcome(here) == (200, None)
    old, provider.key = provider.key, RSAKey.generate_key(2048, {"kid": "second"})
    assert outcome(here) == (200, None)
    asked = [path for path, _, _ in provider.asked]
    assert asked.count("/keys") == 2, "once, and once more for the new one"
    provider.sign = lambda claims, key: jwt.encode({"alg": "RS256", "kid": "first"}, claims, old, ["RS256"])
    assert outcome(here) == FAILED
    provider.listed = [5]
    assert outcome(here) == AWAY


def test_keys_on_curves_sign_too(here: Api, provider: Told) -> None:
    curve = ECKey.generate_key("P-256", {"kid": "curve"})
    provider.listed = [curve.as_dict(private=False)]
    provider.sign = lambda claims, key: jwt.encode({"alg": "ES256", "kid": "curve"}, claims, curve, ["ES256"])
    assert outcome(here) == (200, None)
    # As with the keys of before, of which there is one only: without a name it is meant.
    provider.sign = lambda claims, key: jwt.encode({"alg": "ES256"}, claims, curve, ["ES256"])
    assert outcome(here) == (200, None)
