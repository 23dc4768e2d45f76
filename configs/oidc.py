"""The settings of signing in with OpenID Connect: which provider, and what its users may do here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator

from .api import LOOPBACK
from .area import Area, tables, texts

ScopeName = Literal["read", "submit", "operate", "settle", "robot", "admin"]
BandName = Literal["CRITICAL", "HIGH", "NORMAL", "LOW", "BACKGROUND"]
CALLBACK: Final = "/api/v1/session/oidc/callback"
"""The path to which a provider sends browsers back."""


def _checked(url: str, *, may_have_path: bool) -> str:
    try:
        parts = urlsplit(url)
        host, is_port = parts.hostname, parts.port != 0
    except ValueError:
        raise ValueError("it is not a URL") from None
    if not host or not is_port or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("it must be a URL without user, query and fragment, like https://login.example")
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        raise ValueError("it must begin with https://, unless it is on this machine")
    if parts.path.strip("/") and not may_have_path:
        raise ValueError("it must have no path: the API answers at its root")
    return url


class OidcSettings(Area, frozen=True):
    """Signing in with OpenID Connect: the provider, and what its users may do."""

    issuer: str | None = None
    """The provider's URL, exactly as it says itself; none: nobody signs in so."""
    client_id: str = ""
    """The name of this API at the provider, and the audience of what it signs."""
    client_secret: SecretStr | None = None
    """Its password there; none: a public client."""
    public_url: str = ""
    """Where browsers find this API, like https://bandmaster.example: the provider sends them back there."""
    scopes: Annotated[tuple[str, ...], BeforeValidator(texts)] = ("openid", "profile")
    """What is asked of the provider."""
    owner_claim: str = Field(default="sub", min_length=1)
    """The claim that names the user; only `sub` is promised to stay, and to be nobody else's later."""
    owner_prefix: str = Field(default="", max_length=64)
    """Before that name, so that it is no owner's of a token."""
    groups_claim: str = Field(default="groups", min_length=1)
    """The claim with the user's groups; with dots, it is looked for inside of others."""
    roles: Annotated[Mapping[str, ScopeName], BeforeValidator(tables)] = {}
    """Group → the scope of who is in it; of several groups, all scopes."""
    default_scope: ScopeName | None = None
    """The scope of who is in none of them; none: they are refused."""
    max_band: BandName = "NORMAL"
    """The most urgent priority that users may ask for; admins any."""
    gates: Annotated[tuple[str, ...] | None, BeforeValidator(texts)] = None
    """Patterns of the gates that users may name; none: any."""
    timeout_seconds: float = Field(default=5, gt=0, le=30)
    """How long all that is asked of the provider for one request may take."""
    ca_file: Path | None = None
    """The certificates of authorities that vouch for the provider, a PEM file; none: Mozilla's, which httpx brings."""

    @field_validator("issuer")
    @classmethod
    def _an_issuer(cls, value: str | None) -> str | None:
        return None if value is None else _checked(value, may_have_path=True)

    @field_validator("public_url")
    @classmethod
    def _an_origin(cls, value: str) -> str:
        return _checked(value, may_have_path=False).rstrip("/") if value else value

    @field_validator("max_band", mode="before")
    @classmethod
    def _in_any_case(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in value:
            raise ValueError("it must have openid, or the provider does not say who the user is")
        return value

    @model_validator(mode="after")
    def _enough_to_sign_in(self) -> "OidcSettings":
        if self.issuer is None:
            return self
        if missing := [name for name in ("client_id", "public_url") if not getattr(self, name)]:
            raise ValueError(f"issuer: it needs {' and '.join(missing)}, too")
        if not self.roles and self.default_scope is None:
            raise ValueError("issuer: nobody could sign in without roles or default_scope")
        return self

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends browsers back to, and what has to be registered there. Not made of the `Host` of a
        request, which anybody may choose."""
        return f"{self.public_url}{CALLBACK}"
