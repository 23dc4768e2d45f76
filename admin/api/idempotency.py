"""``Idempotency-Key``: a request that is sent again is carried out once, whichever API process gets it.

In the flow: submitting keeps, in Redis and for a day, which execution a key stands for, before the execution is sent to
the queue. If the process dies in between, or its answer is lost, the same request goes on with the same id, which the
queue takes once. A key belongs to its token and route; with another body it is refused.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Any, Final
from uuid import uuid4

from pydantic import AfterValidator

from ...scheduler.events.fields import as_pattern, described
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.transport.reading import Reader, repeated
from ...scheduler.transport.scripts import Scripts
from ..errors import Refused

KEPT_SECONDS: Final = 86_400
_KEY: Final = re.compile(r"[ -~]{1,255}")


def check_key(key: str) -> str:
    """Return the value if it may be a key; else raise InvalidRequest."""
    if _KEY.fullmatch(key):
        return key
    raise InvalidRequest("Idempotency-Key", f"{shown(key)} is none", allowed="1 to 255 printable ASCII characters")


IdempotencyKey = Annotated[str, AfterValidator(check_key), described(pattern=as_pattern(_KEY))]


@dataclass(frozen=True, slots=True)
class Claim:
    """A key, and the execution for which it stands."""

    digest: str
    execution_id: str
    is_new: bool
    """Whether this request is the first with this key."""


class Claims(Reader):
    """The keys of one queue. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        super().__init__(scripts)
        self._keys = scripts.keys

    def claim(self, key: str, *, token_id: str, route: str, body: bytes, execution_id: str) -> Claim:
        """Let a key stand for an execution, unless it does for another already.

        Args:
            key: As the caller sent it, and its type checked it.
            token_id: Whose key it is.
            route: What the request is for.
            body: All that it asks for.
            execution_id: The id that a first request is to have.

        Raises:
            Refused: If it was sent with another body.
        """
        digest = hashlib.sha256("\n".join((token_id, route, key)).encode()).hexdigest()
        asked = hashlib.sha256(body).hexdigest()
        nonce = uuid4().hex
        asked_first, first_id, first_nonce = self._claim(digest, f"{asked} {execution_id} {nonce}").split(" ")
        if asked_first != asked:
            detail = f"the Idempotency-Key {shown(key)} was sent with another body before"
            raise Refused(422, "idempotency_key_reused", detail)
        # Not what SET says: if the answer to it was lost, it is this request's own that is found.
        return Claim(digest, first_id, is_new=first_nonce == nonce)

    @repeated
    def give_back(self, claim: Claim) -> None:
        """Forget a key whose request named an id that is taken: it stands for nothing."""
        self._client.delete(self._keys.request(claim.digest))

    @repeated
    def _claim(self, digest: str, value: str) -> str:
        name = self._keys.request(digest)
        pipeline: Any = self._client.pipeline(transaction=True)
        pipeline.set(name, value, nx=True, ex=KEPT_SECONDS)
        pipeline.get(name)
        _, first = pipeline.execute()
        return first.decode()
