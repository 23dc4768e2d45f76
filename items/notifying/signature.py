"""Signs notifications and checks signatures, as the specification of Standard Webhooks has it.

In the flow: `posting` signs each attempt; receivers check with `bandmaster.client.verify_notification`, or with any
library for Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
The header `webhook-id` is the same at each attempt, `webhook-timestamp` is when this one was made, in seconds, and
`webhook-signature` has one `v1,` with Base64 of HMAC-SHA256 over `id.timestamp.body` for each secret. Nothing here does
I/O.
"""

import base64
import hmac
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from ...configs.notify import key_of

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"
_VERSION: Final = "v1"
TOLERANCE_SECONDS: Final = 300


class BadSignature(ValueError):
    """A notification is not from who has the secret, or is too old."""


def headers_of(keys: Sequence[bytes], delivery_id: str, at_seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers of an attempt.

    Args:
        keys: Each signs.
        delivery_id: By which the receiver knows a notification that comes again.
        at_seconds: When the attempt is made, Unix seconds.
        body: What is sent.
    """
    signed = [f"{_VERSION},{_digest(key, delivery_id, str(at_seconds), body)}" for key in keys]
    return {ID: delivery_id, TIMESTAMP: str(at_seconds), SIGNATURE: " ".join(signed)}


def verify_notification(
    headers: Mapping[str, str], body: bytes, secret: str, *, tolerance_seconds: int = TOLERANCE_SECONDS
) -> str:
    """Check that a notification is from who has the secret, and was sent just now.

    Args:
        headers: Of the request; their names in any case.
        body: Of the request, as it came: not read and written again.
        secret: The one of `notify.secret`, `whsec_…`.
        tolerance_seconds: How far its time may be from this machine's, in either direction.

    Returns:
        The delivery's id: one that was seen before is the same notification again.

    Raises:
        BadSignature: If it is not.
        ValueError: If the secret is none.
    """
    key = key_of(secret)
    given = {name.lower(): value for name, value in headers.items()}
    if missing := [name for name in (ID, TIMESTAMP, SIGNATURE) if not given.get(name)]:
        raise BadSignature(f"the header {missing[0]} is missing")
    at = given[TIMESTAMP]
    if not (at.isascii() and at.isdecimal() and len(at) < 16):
        raise BadSignature(f"the header {TIMESTAMP} is no time in seconds")
    if abs(time.time() - int(at)) > tolerance_seconds:
        raise BadSignature(f"its time is more than {tolerance_seconds} s from now: it may be an old one, sent again")
    right = _digest(key, given[ID], at, body).encode()
    is_right = False
    for each in given[SIGNATURE].split():
        version, _, digest = each.partition(",")
        # All of them are compared, in a time that tells nothing of them.
        is_right |= version == _VERSION and hmac.compare_digest(digest.encode(), right)
    if not is_right:
        raise BadSignature("no signature is by this secret")
    return given[ID]


def _digest(key: bytes, delivery_id: str, at: str, body: bytes) -> str:
    signed = hmac.new(key, f"{delivery_id}.{at}.".encode() + body, sha256)
    return base64.b64encode(signed.digest()).decode()
