"""``Fetching``: asks the provider over HTTP, within a time, and reads no more of an answer than it may have.

In the flow: everything that goes out to the provider goes out here. It is asked from the event loop, without a thread
or a turn that requests of Redis or SQL could need; a provider that hangs holds up the logins that ask it, each until
its time is over, and when there are too many of them the next is told at once.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from threading import BoundedSemaphore
from typing import Any, Final

import httpx

from ...configs.oidc import OidcSettings
from .errors import ProviderUnavailable

AT_ONCE: Final = 32
"""How many logins may ask the provider at once, in a process."""
MOST_BYTES: Final = 1_048_576


class Fetching:
    """Asks one provider."""

    def __init__(self, settings: OidcSettings) -> None:
        """Makes no connection."""
        self._seconds = settings.timeout_seconds
        self._ca_file = settings.ca_file
        self._places = BoundedSemaphore(AT_ONCE)

    @asynccontextmanager
    async def in_time(self) -> AsyncGenerator[None]:
        """Let all that is asked within the block take no longer than the settings say.

        Raises:
            ProviderUnavailable: If it does, or too many logins wait for the provider already.
        """
        if not self._places.acquire(blocking=False):
            raise ProviderUnavailable("too many logins wait for it already")
        try:
            async with asyncio.timeout(self._seconds):
                yield
        except TimeoutError:
            raise ProviderUnavailable(f"it did not answer within {self._seconds:g} s (oidc.timeout_seconds)") from None
        finally:
            self._places.release()

    async def document(self, url: str) -> Any:
        """Return a JSON document.

        Raises:
            ProviderUnavailable: If there is none.
        """
        answer = await self.send("GET", url)
        if answer.status_code != 200:
            raise ProviderUnavailable(f"{url} answers with {answer.status_code}")
        try:
            return answer.json()
        except ValueError:
            raise ProviderUnavailable(f"{url} is no JSON") from None

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: str = ""
    ) -> httpx.Response:
        """Send a request, and return the answer to it.

        Args:
            method: Of HTTP.
            url: Where to.
            headers: Further headers.
            body: What is sent.

        Raises:
            ProviderUnavailable: If no answer comes, or one that is too long.
        """
        try:
            # A connection of its own, for what happens once a login. It follows no redirection, and asks no proxy that
            # the environment names: a provider is asked where the settings say.
            async with (
                httpx.AsyncClient(verify=self._trusted, trust_env=False, timeout=self._seconds) as client,
                client.stream(method, url, headers=headers, content=body.encode()) as answer,
            ):
                read = bytearray()
                async for part in answer.aiter_bytes():
                    read += part
                    if len(read) > MOST_BYTES:
                        raise ProviderUnavailable(f"{url} answers with more than {MOST_BYTES} bytes")
                return httpx.Response(answer.status_code, content=bytes(read), request=answer.request)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            # The error's text may have what the provider sent.
            raise ProviderUnavailable(f"{url}: {type(error).__name__}") from None

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        if self._ca_file is None:
            return httpx.create_ssl_context(trust_env=False)
        return ssl.create_default_context(cafile=str(self._ca_file))
