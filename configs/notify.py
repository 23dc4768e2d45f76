"""The settings of notifications: with which secrets they are signed, and whom they may reach."""

import base64
import binascii
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from .area import Area, texts
from .errors import SettingsError

SECRET_PREFIX: Final = "whsec_"
"""As Standard Webhooks writes secrets; what follows is Base64 of the key."""
KEY_MIN_BYTES: Final = 24
KEY_MAX_BYTES: Final = 64
MAKE: Final = """python3 -c 'import base64, os; print("whsec_" + base64.b64encode(os.urandom(32)).decode())'"""
Network = IPv4Network | IPv6Network


def key_of(secret: str) -> bytes:
    """Return the key of a secret.

    Raises:
        ValueError: If it is none; the secret is not in the message.
    """
    if secret.startswith(SECRET_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if KEY_MIN_BYTES <= len(key) <= KEY_MAX_BYTES:
            return key
    raise ValueError(
        f"a secret is {SECRET_PREFIX} and Base64 of {KEY_MIN_BYTES} to {KEY_MAX_BYTES} bytes; this makes one: {MAKE}"
    )


class NotifySettings(Area, frozen=True):
    """Notifications to the addresses of queues and triggers: how they are signed, and whom they may reach."""

    secret: SecretStr | None = None
    """With what they are signed, as Standard Webhooks has it (whsec_…); several with spaces between them, and each
    signs, while receivers change from one to the next. Better in a file."""
    secret_file: Path | None = None
    """The file that holds it."""
    private_networks: Annotated[tuple[str, ...], BeforeValidator(texts)] = ()
    """Networks that are not public and may be reached all the same, like 10.1.0.0/16; none: public addresses only."""
    timeout_seconds: float = Field(default=10, gt=0, le=60)
    """How long one delivery may take in all."""
    ca_file: Path | None = None
    """The certificates of authorities that vouch for receivers, a PEM file; none: Mozilla's, which httpx brings."""

    @field_validator("secret")
    @classmethod
    def _has_keys(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            for each in value.get_secret_value().split():
                key_of(each)
        return value

    @field_validator("private_networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            try:
                ip_network(each)
            except ValueError:
                raise ValueError(f"{each!r} is no network, like 10.1.0.0/16") from None
        return value

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks of `private_networks`."""
        return tuple(ip_network(each) for each in self.private_networks)

    @property
    def has_secret(self) -> bool:
        """Whether one is configured; the file is not looked at."""
        return self.secret is not None or self.secret_file is not None

    def keys(self) -> tuple[bytes, ...]:
        """Return the keys that sign, the first one first; none: nothing is signed, and nothing sent.

        Raises:
            SettingsError: If the file is not readable, or holds none. No secret is in the message.
        """
        text = "" if self.secret is None else self.secret.get_secret_value()
        if self.secret_file is not None:
            try:
                text += " " + self.secret_file.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise SettingsError(f"setting notify.secret_file: {type(error).__name__}: {self.secret_file}") from None
        try:
            keys = tuple(key_of(each) for each in text.split())
        except ValueError as error:
            raise SettingsError(f"setting notify.secret_file: {error}") from None
        if self.has_secret and not keys:
            raise SettingsError(f"setting notify.secret_file: it is empty; this makes a secret: {MAKE}")
        return keys
