"""``Metadata``: what a provider says of itself, and ``Keys``, with which it signs; both are kept for an hour.

In the flow: the first login asks for both; starting a process asks for nothing. A key that nobody here knows is asked
for at once, so that a provider may change its keys whenever it likes.
"""

import time
from collections.abc import Callable
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet
from pydantic import BaseModel, ConfigDict, ValidationError

from ...configs.api import LOOPBACK
from ...scheduler.model.errors import shown
from .errors import ProviderUnavailable
from .fetching import Fetching

KEPT_SECONDS: Final = 3_600.0


class Metadata(BaseModel):
    """Of what a provider says of itself, that which is needed."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False

    @property
    def way_of_secret(self) -> Literal["client_secret_basic", "client_secret_post"]:
        """How it wants a client's secret: of those that it takes, the one that stands in no body."""
        ways = self.token_endpoint_auth_methods_supported
        is_post = "client_secret_post" in ways and "client_secret_basic" not in ways
        return "client_secret_post" if is_post else "client_secret_basic"


class KnownProvider:
    """What is known of one provider. To be used from event loops; what two need at once is asked for twice."""

    def __init__(self, issuer: str, fetching: Fetching, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Asks for nothing. `clock`: seconds that only grow."""
        self.issuer: Final = issuer
        self._fetching = fetching
        self._clock = clock
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def metadata(self) -> Metadata:
        """Return what it says of itself.

        Raises:
            ProviderUnavailable: If it says nothing, or is another one.
        """
        if self._metadata is None or self._is_old(self._metadata[0]):
            url = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            self._metadata = (self._clock(), self._read(await self._fetching.document(url)))
        return self._metadata[1]

    async def keys(self, *, anew: bool = False) -> KeySet:
        """Return the keys with which it signs.

        Args:
            anew: One is missing among those that are known.

        Raises:
            ProviderUnavailable: If it does not say them.
        """
        if self._keys is None or anew or self._is_old(self._keys[0]):
            url = (await self.metadata()).jwks_uri
            self._keys = (self._clock(), _key_set(await self._fetching.document(url)))
        return self._keys[1]

    def _is_old(self, asked_at: float) -> bool:
        return self._clock() - asked_at >= KEPT_SECONDS

    def _read(self, document: object) -> Metadata:
        try:
            metadata = Metadata.model_validate(document)
        except ValidationError:
            raise ProviderUnavailable("what it says of itself is not what a provider says") from None
        if metadata.issuer != self.issuer:
            # Another provider could speak for this one's users.
            raise ProviderUnavailable(f"it says that it is {shown(metadata.issuer)}, not what oidc.issuer says")
        for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri):
            if not self._may_be_asked(url):
                raise ProviderUnavailable(f"its address {shown(url)} does not begin with https://")
        return metadata

    def _may_be_asked(self, url: str) -> bool:
        """Whether what is sent there, and comes from there, is safe on its way."""
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        is_here = self.issuer.startswith("http://") and parts.scheme == "http" and parts.hostname in LOOPBACK
        return bool(parts.hostname) and (parts.scheme == "https" or is_here)


def _key_set(document: Any) -> KeySet:
    listed: object = cast("dict[str, object]", document).get("keys") if isinstance(document, dict) else None
    keys: list[Any] = []
    for each in cast("list[Any]", listed) if isinstance(listed, list) else []:
        try:
            keys.append(JWKRegistry.import_key(each))
        except (JoseError, ValueError, TypeError, KeyError, AttributeError):
            # One of a kind that is not known here: others may be.
            continue
    if not keys:
        raise ProviderUnavailable("it says no keys with which it signs")
    return KeySet(keys)
