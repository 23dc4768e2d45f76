"""``Posting``: posts one notification to its receiver, within a time, to exactly the address that was checked.

In the flow: `delivering` calls it for each attempt. The receiver's name is asked for once; the connection goes to the
address that came of it and was allowed, while TLS and `Host` have the name. No redirection is followed, no proxy of the
environment is asked, and nothing of an answer is read but its status. If the process dies here, or the answer is lost,
the receiver may have taken it, and gets it again under the same id.
"""

import asyncio
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Final
from urllib.parse import urlsplit

import httpx

from ...configs.notify import NotifySettings
from .resolving import Forbidden, Resolve, allowed_addresses, resolve_name
from .signature import headers_of

PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one attempt."""

    problem: str | None
    """None: the receiver took it; else why not, without anything that the receiver sent."""
    status: int | None = None
    """What it answered with; None: there was no answer."""


class Posting:
    """Posts what one installation has to tell. Used by one event loop."""

    def __init__(self, settings: NotifySettings, resolve: Resolve = resolve_name) -> None:
        """Makes no connection.

        Args:
            settings: Of notifications.
            resolve: Asks for the addresses of names.

        Raises:
            SettingsError: If the secret cannot be read.
        """
        self._keys = settings.keys()
        self._networks = settings.networks
        self._seconds = settings.timeout_seconds
        self._no_answer = f"no answer within {self._seconds:g} s (notify.timeout_seconds)"
        self._ca_file = settings.ca_file
        self._resolve = resolve
        self._user_agent = f"bandmaster/{version('bandmaster')}"

    async def post(self, url: str, delivery_id: str, body: bytes) -> Attempt:
        """Make one attempt.

        Args:
            url: The receiver's address.
            delivery_id: By which the receiver knows what comes again.
            body: What is sent.
        """
        try:
            async with asyncio.timeout(self._seconds):
                return await self._post(url, delivery_id, body)
        except (TimeoutError, httpx.ConnectTimeout):
            return Attempt(self._no_answer)
        except Forbidden as error:
            return Attempt(str(error))
        except httpx.ConnectError as error:
            return Attempt(f"no connection: {error}")
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            # The error's text may have what the receiver sent.
            return Attempt(f"it was not sent: {type(error).__name__}")

    async def _post(self, url: str, delivery_id: str, body: bytes) -> Attempt:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or PORTS[parts.scheme]
        addresses = await allowed_addresses(self._resolve, host, port, self._networks)
        headers = headers_of(self._keys, delivery_id, int(time.time()), body)
        headers |= {"host": parts.netloc, "content-type": "application/json", "user-agent": self._user_agent}
        *first, last = addresses
        # One that never answers has its share of the time, so that there is some left for the next.
        patience = httpx.Timeout(self._seconds, connect=self._seconds / len(addresses))
        async with httpx.AsyncClient(verify=self._trusted, trust_env=False, timeout=patience) as client:

            async def post_to(address: str) -> Attempt:
                at = httpx.URL(url).copy_with(host=address)
                of_name = {"sni_hostname": host}
                async with client.stream("POST", at, headers=headers, content=body, extensions=of_name) as answer:
                    return Attempt(_problem(answer.status_code), answer.status_code)

            for address in first:
                # Nothing was sent: of several addresses, some may be out of this machine's reach.
                with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                    return await post_to(address)
            return await post_to(last)

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        if self._ca_file is None:
            return httpx.create_ssl_context(trust_env=False)
        return ssl.create_default_context(cafile=str(self._ca_file))


def _problem(status: int) -> str | None:
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return f"it answered with {status}, and redirections are not followed"
    return f"it answered with {status}"
