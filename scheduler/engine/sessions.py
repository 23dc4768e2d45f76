"""Sessions of browsers at the API, as the server keeps them: begun, found, ended, and the codes by which one may begin.

In the flow: the API calls it; what a record says is the API's own matter. Only digests of ids and codes are here. A
session ends by itself when it was idle for too long, by its TTL, or has lasted too long, by the server's clock; if that
jumps, it ends sooner or later by as much. A server that was emptied knows none: everybody is signed out.
"""

from dataclasses import dataclass
from typing import Any, Final

from ..model.operators import check_by
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts

_RENEWED_PART: Final = 0.95
"""A session is written to only when less than this of its idle time is left: not with each of a page's requests."""
_NO_CODE: Final = b"NO_CODE"


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that is to begin."""

    digest: str
    """Of its id."""
    whose: str
    """Of whose sessions there is a bound; without spaces."""
    record: str
    """What the API is to know of it."""
    idle_ms: int
    """After which time without a request it ends."""
    lasting_ms: int
    """After which time it ends in any case."""
    most: int
    """How many of the same there may be; the oldest end."""
    code: str = ""
    """The digest of the one-time code that is given for it; empty for none."""
    before: str = ""
    """The digest of the session that the browser had, which ends; empty for none."""


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session that was found."""

    record: str
    ends_ms: int
    """When it ends at the latest, Unix milliseconds of the server's clock."""


class Sessions(Reader):
    """The sessions on one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        super().__init__(scripts)
        self._keys = scripts.keys
        self._sign_in = scripts.script("sign_in", "session whose record idle_ms lasting_ms most code before by")
        self._sign_out = scripts.script("sign_out", "session by")

    def begin(self, new: NewSession, *, by: str) -> int | None:
        """Keep a session, and return when it ends at the latest, Unix milliseconds; None if it was to begin by a code
        that is not there any more.

        Args:
            new: The session.
            by: Who signs in, for the journal.
        """
        answer = self._scripts.call(
            self._sign_in,
            *(new.digest, new.whose, new.record, new.idle_ms, new.lasting_ms, new.most, new.code, new.before),
            check_by(by),
        )
        return None if answer == _NO_CODE else int(answer)

    def end(self, digest: str, *, by: str) -> bool:
        """End a session; False if there was none.

        Args:
            digest: Of its id.
            by: Who signs out, for the journal.
        """
        return bool(self._scripts.call(self._sign_out, digest, check_by(by)))

    @repeated
    def find(self, digest: str, idle_ms: int | None = None) -> KeptSession | None:
        """Return a session; None if there is none.

        Args:
            digest: Of its id.
            idle_ms: It is used, and may be idle for so long from now on; None: it is only looked at.
        """
        name = self._keys.session(digest)
        pipeline: Any = self._client.pipeline(transaction=True)
        pipeline.get(name)
        pipeline.pttl(name)
        pipeline.time()
        value, left_ms, (seconds, microseconds) = pipeline.execute()
        if value is None:
            return None
        ends, _, rest = value.decode(errors="replace").partition(" ")
        if not ends.isdecimal():
            return None
        lasting_ms = int(ends) - (seconds * 1000 + microseconds // 1000)
        if lasting_ms <= 0:
            return None
        if idle_ms is not None and left_ms < _RENEWED_PART * min(idle_ms, lasting_ms):
            # It writes nothing if the session has ended meanwhile.
            self._client.pexpire(name, min(idle_ms, lasting_ms))
        return KeptSession(rest.partition(" ")[2], int(ends))

    @repeated
    def keep_code(self, digest: str, record: str, *, seconds: int) -> None:
        """Keep for whom a one-time code stands.

        Args:
            digest: Of the code.
            record: What the API is to know of it.
            seconds: How long it may be used.
        """
        self._client.set(self._keys.login(digest), record, ex=seconds)

    @repeated
    def code(self, digest: str) -> str | None:
        """Return for whom a code stands, and leave it as it is; None if there is none."""
        value = self._client.get(self._keys.login(digest))
        return None if value is None else value.decode()

    @repeated
    def take_code(self, digest: str) -> str | None:
        """Return for whom a code stands, and use it up. If the answer is lost, it is used up, too."""
        value = self._client.getdel(self._keys.login(digest))
        return None if value is None else value.decode()
