"""The settings of the admin API."""

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr, model_validator

from .area import Area, texts

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
PORT = 8640
URL_FILE = "api-url"
"""Under `paths.var_dir`: where the process that serves the API says at which address; it writes it once it listens."""


class ApiSettings(Area, frozen=True):
    """The admin API: where it listens, who may call it, how much a request may be; where the command line finds it."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address to listen on; any but a loopback one needs credentials: a ledger with tokens, or `tokens_file`."""
    port: int = Field(default=PORT, ge=0, le=65_535)
    """The port; 0: a free one."""
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()
    """The names in `Host` by which it may be called; none: loopback ones, and any if it listens elsewhere."""
    tokens_file: Path | None = None
    """A TOML file of tokens, which works without the ledger."""
    trusted_proxies: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()
    """Addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed."""
    tls_certificate: Path | None = None
    """The certificate chain, a PEM file; none: no TLS."""
    tls_key: Path | None = None
    """The certificate's key, a PEM file."""
    max_body_bytes: int = Field(default=2_097_152, ge=1_024)
    """The longest body of a submission; other bodies but files of items have 64 KiB at most."""
    body_seconds: float = Field(default=20, gt=0)
    """How long a request's body may take to arrive."""
    max_upload_bytes: int = Field(default=67_108_864, ge=1_024)
    """The longest file of items; while it comes, it is on the disk (`TMPDIR`)."""
    upload_seconds: float = Field(default=300, gt=0)
    """How long such a file may take to arrive."""
    requests_per_minute: int = Field(default=6_000, ge=0)
    """How many requests a token may send a minute, to all processes together; 0: any number."""
    submissions_per_minute: int = Field(default=1_200, ge=0)
    """How many of them may submit something; 0: any number."""
    failed_logins_per_minute: int = Field(default=60, ge=0)
    """How many requests without a valid token an address may send a minute, of IPv6 a /64; 0: any number."""

    session_seconds: int = Field(default=43_200, ge=1)
    """How long a browser stays signed in at most."""
    session_idle_seconds: int = Field(default=3_600, ge=1)
    """After which time without a request it is signed out; a stream that it follows is none."""
    sessions_per_token: int = Field(default=20, ge=1)
    """How many browsers may be signed in by one token, or one user of a provider; the oldest is signed out."""
    url: str | None = None
    """Where the command line finds an API, like https://bandmaster.example; none: it works beside Redis."""
    token: SecretStr | None = None
    """The token with which the command line calls it; better in a file."""
    token_file: Path | None = None
    """The file that holds that token."""
    timeout_seconds: float = Field(default=10, gt=0)
    """How long the command line waits for an answer of the API, before it asks again or gives up."""

    @model_validator(mode="after")
    def _certificate_and_key(self) -> "ApiSettings":
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key: give both, or neither")
        return self

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK
