"""Reads an ID token: what a provider says of a user, if it is the provider who says so, to this API, for this login.

In the flow: the last step of a login, before anything is believed. Of the algorithms those count by which only the
provider can sign; with others (`none`, or the HMACs) anybody could who knows what is public.
"""

from collections.abc import Mapping
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from .errors import NotProven

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "Ed25519"),
)
LEEWAY_SECONDS: Final = 60
"""How far the clocks of this machine and the provider's may be apart."""
_SUBJECT_MAX_CHARS: Final = 255
_NAMED: Final = frozenset({"iss", "sub", "aud", "azp", "exp", "iat", "nbf", "nonce", "at_hash"})
"""The claims that are checked, and may be named where one of them is wrong."""
# Fields of the header that nobody knows here say nothing; those that have to be understood (`crit`) are still refused.
_REGISTRY: Final = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)


class UnknownKey(NotProven):
    """It was signed with a key that is not among those that are known."""


def claims_of(
    id_token: str, keys: KeySet, *, issuer: str, client_id: str, nonce: str, access_token: str | None, now: int
) -> Mapping[str, object]:
    """Return the claims of an ID token.

    Args:
        id_token: As it came from the provider.
        keys: The provider's.
        issuer: Who has to have signed it.
        client_id: For whom it has to be.
        nonce: Of which login it has to be.
        access_token: What came with it, whose hash it may have.
        now: Unix seconds.

    Raises:
        UnknownKey: If it may be right, by a key that is not known.
        NotProven: If anything of it is not as it has to be.
    """
    expected: dict[str, Any] = {
        "iss": {"essential": True, "value": issuer},
        "aud": {"essential": True, "value": client_id},
        "sub": {"essential": True},
    }
    told = {"nonce": nonce, "client_id": client_id, "access_token": access_token}
    try:
        signed = jwt.decode(id_token, keys, algorithms=ALGORITHMS, registry=_REGISTRY)
        claims: Any = CodeIDToken(signed.claims, signed.header, options=expected, params=told)
        claims.validate(now, LEEWAY_SECONDS)
    except InvalidKeyIdError:
        raise UnknownKey("the ID token was signed with a key that the provider does not list") from None
    except JoseError as error:
        # Its name, and of a claim the claim's: what it says besides may be the token's.
        raise NotProven(f"the ID token is refused: {_named(error)}") from None
    except (ValueError, TypeError, AttributeError, KeyError, UnicodeError) as error:
        raise NotProven(f"the ID token cannot be read: {type(error).__name__}") from None
    if len(signed.claims["sub"]) > _SUBJECT_MAX_CHARS:
        raise NotProven("the ID token is refused: its subject is too long")
    return signed.claims


def _named(error: JoseError) -> str:
    claim = getattr(error, "claim", None)
    return f"{type(error).__name__}{f' ({claim})' if claim in _NAMED else ''}"
