"""Checks the address of a receiver where it enters: what can be seen without asking anybody.

In the flow: queues and triggers are made and changed with it. What a name stands for is checked at each delivery, in
`resolving`, as it may stand for something else by then. An address may have a secret in its path, as those of chats do,
so it is told to admins only, and others see `shown_address`.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from ...configs.notify import MAKE, NotifySettings
from ...scheduler.model.errors import InvalidRequest
from .resolving import ip_of, why_forbidden

NOTIFY_URL: Final = "notify_url"
URL_MAX_CHARS: Final = 2_000
_PRINTABLE: Final = re.compile(r"[!-~]+")
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")
_ALLOWED: Final = "like https://hooks.example/bandmaster, without user, password and fragment"


def check_address(fields: Mapping[str, Any], notify: NotifySettings) -> None:
    """Refuse an address to which nothing could be sent.

    Args:
        fields: Of a queue or a trigger; without an address, or with none, there is nothing to check.
        notify: The settings of notifications.

    Raises:
        InvalidRequest: If it is no address, or a private one that is not allowed, or there is no secret to sign with.
    """
    url = fields.get(NOTIFY_URL)
    if url is None:
        return
    parts = _parts(url)
    if not notify.has_secret:
        raise InvalidRequest(
            NOTIFY_URL,
            "there is no secret with which notifications would be signed",
            allowed=f"when notify.secret_file (or notify.secret) is set for the API and the ledger's process; {MAKE} "
            "makes one",
        )
    ip = ip_of(parts.hostname or "")
    if ip is not None and (why := why_forbidden(ip, notify.networks)) is not None:
        raise InvalidRequest(NOTIFY_URL, why, allowed="a public address, or one of notify.private_networks")


def shown_address(url: str | None) -> str | None:
    """Return what may be seen of an address by whoever may not know its path."""
    if url is None:
        return None
    parts = urlsplit(url)
    has_more = parts.path.strip("/") or parts.query
    return f"{parts.scheme}://{parts.netloc}/{'…' if has_more else ''}"


def _parts(url: str) -> SplitResult:
    if len(url) > URL_MAX_CHARS:
        raise InvalidRequest(NOTIFY_URL, "it is too long", allowed=f"at most {URL_MAX_CHARS:,} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidRequest(NOTIFY_URL, "it is no URL", allowed=_ALLOWED) from None
    is_plain = _PRINTABLE.fullmatch(url) and _HOST.fullmatch(host) and port != 0 and "\\" not in url
    if parts.scheme not in ("https", "http") or not is_plain or "@" in parts.netloc or "#" in url:
        raise InvalidRequest(NOTIFY_URL, "it is no address of a receiver", allowed=_ALLOWED)
    return parts
