"""``Provider``: sends browsers to an OpenID provider, and changes the code with which they come back for who they are.

In the flow: the two routes of the login ask it, and nothing else. It keeps nothing of a login; if the process dies
between the two, another one can do the second. What is OAuth's and OpenID's is done by Authlib, what is signed is read
by joserfc; here is in which order, and what each answer has to be.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import httpx
from authlib.oauth2.base import OAuth2Error
from authlib.oauth2.client import OAuth2Client

from ...configs.oidc import OidcSettings
from ..auth.users import Claims
from .errors import NotProven, ProviderUnavailable
from .fetching import Fetching
from .id_token import UnknownKey, claims_of
from .metadata import KnownProvider, Metadata

_OF_THE_CODE: Final = "invalid_grant"
"""What a token endpoint says of a code that is wrong, too old or was used."""
_OF_OURS: Final = frozenset(
    {"invalid_client", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type"}
)
"""What it says if this API is not set up there as its settings say."""


class Provider:
    """An OpenID provider. To be used from event loops."""

    def __init__(
        self,
        settings: OidcSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Asks for nothing.

        Args:
            settings: Which provider; it has an issuer.
            clock: Seconds that only grow.
            wall_clock: Unix seconds, for expiry.
        """
        self._settings = settings
        self._issuer = settings.issuer or ""
        self._wall_clock = wall_clock
        self._fetching = Fetching(settings)
        self._known = KnownProvider(self._issuer, self._fetching, clock=clock)

    async def login_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """Return where a browser is sent for a login.

        Raises:
            ProviderUnavailable: If the provider does not say it.
        """
        async with self._fetching.in_time():
            metadata = await self._known.metadata()
        client = self._client(metadata)
        url: str = client.create_authorization_url(
            metadata.authorization_endpoint, state=state, code_verifier=verifier, nonce=nonce
        )[0]
        return url

    async def who(self, *, code: str, said_issuer: str | None, nonce: str, verifier: str) -> Claims:
        """Return what the provider says of who came back with a code.

        Args:
            code: As the browser brought it.
            said_issuer: Who sent the browser back, if that was said (RFC 9207).
            nonce: Of this login.
            verifier: Of this login.

        Raises:
            NotProven: If it proves nothing.
            ProviderUnavailable: If the provider does not answer, or does not know this API.
        """
        async with self._fetching.in_time():
            metadata = await self._known.metadata()
            is_said = said_issuer is not None or metadata.authorization_response_iss_parameter_supported
            if is_said and said_issuer != self._issuer:
                raise NotProven("the browser was sent back by another provider")
            answer = await self._changed(metadata, code, verifier)
            id_token, access_token = answer.get("id_token"), answer.get("access_token")
            if not isinstance(id_token, str):
                raise NotProven("the provider sent no ID token")
            access_token = access_token if isinstance(access_token, str) else None
            try:
                return await self._read(id_token, access_token, nonce)
            except UnknownKey:
                # It may have changed its keys within the hour.
                return await self._read(id_token, access_token, nonce, anew=True)

    async def _changed(self, metadata: Metadata, code: str, verifier: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await self._client(metadata).fetch_token(
                metadata.token_endpoint,
                grant_type="authorization_code",
                code=code,
                code_verifier=verifier,
                redirect_uri=self._settings.redirect_uri,
            )
        except OAuth2Error as error:
            name: object = error.error
            if name == _OF_THE_CODE:
                raise NotProven("the provider does not take the code: it is wrong, too old or was used") from None
            told = name if isinstance(name, str) and name in _OF_OURS else "something else"
            raise ProviderUnavailable(f"it refuses to change a code: {told}") from None
        except (httpx.HTTPError, ValueError, TypeError, AttributeError) as error:
            raise ProviderUnavailable(f"its token endpoint answers with {type(error).__name__}") from None
        return answer

    async def _read(self, id_token: str, access_token: str | None, nonce: str, *, anew: bool = False) -> Claims:
        return claims_of(
            id_token,
            await self._known.keys(anew=anew),
            issuer=self._issuer,
            client_id=self._settings.client_id,
            nonce=nonce,
            access_token=access_token,
            now=int(self._wall_clock()),
        )

    def _client(self, metadata: Metadata) -> Any:
        # One for each use: it keeps what it was told.
        secret = self._settings.client_secret
        return _Client(
            self._fetching,
            client_id=self._settings.client_id,
            client_secret=None if secret is None else secret.get_secret_value(),
            token_endpoint_auth_method="none" if secret is None else metadata.way_of_secret,
            scope=" ".join(self._settings.scopes),
            redirect_uri=self._settings.redirect_uri,
            code_challenge_method="S256",
        )


class _Client(OAuth2Client):
    """Authlib's client, which sends what it says by our own way to the provider."""

    def __init__(self, fetching: Fetching, **given: Any) -> None:
        parent: Any = super()
        parent.__init__(session=None, **given)
        self._fetching = fetching

    async def _fetch_token(
        self, url: str, body: str = "", headers: Any = None, auth: Any = None, method: str = "POST", **_: Any
    ) -> Any:
        # A copy: those that come are all clients' own, and the secret is about to be written there.
        url, headers, body = auth.prepare(method, url, dict(headers), body)
        its: Any = self
        return its.parse_response_token(await self._fetching.send(method, url, headers=headers, body=body))
