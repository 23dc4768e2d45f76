"""``BrowserSessions``: who is signed in by a browser, as Redis keeps it.

In the flow: a cookie with a session's id stands for the token by which its browser signed in, or for the user of a
provider. Redis has the digest of the id, and the digest of the token's secret, so that another token under the same id
is not meant by it. With each request the token is looked up as if it had been sent itself: a session has the rights
that the token has then, and ends with it. Nothing is kept here but the digests of those that were found, which says
whom it is worth to look for when strangers try others.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from ...configs.api import ApiSettings
from ...scheduler.engine.sessions import NewSession, Sessions
from ...scheduler.transport.scripts import Scripts
from .standing_for import OfToken, StandsFor, read
from .tokens import Caller, Session, Token
from .unguessable import Unguessable

CODE_SECONDS: Final = 600
"""How long a one-time login code may be used."""
_MOST_RECALLED: Final = 10_000


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session, and for whom it stands."""

    session: Session
    of: StandsFor


class BrowserSessions:
    """The sessions of one API. Safe to share between threads; each method that asks Redis raises QueueUnavailable if it
    does not answer."""

    def __init__(self, scripts: Scripts, api: ApiSettings) -> None:
        """Makes no call."""
        self._sessions = Sessions(scripts)
        self.idle_seconds: Final = api.session_idle_seconds
        self.lasting_seconds: Final = api.session_seconds
        self._most = api.sessions_per_token
        self._recalled: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def recalls(self, session_id: Unguessable) -> bool:
        """Whether this session was found before, so that looking for it is no guess of a stranger's."""
        with self._lock:
            return session_id.digest in self._recalled

    def find(self, session_id: Unguessable) -> SignedIn | None:
        """Return the session of a request, which is not idle any more; None if there is none."""
        return self._found(session_id.digest, self.idle_seconds * 1000)

    def look(self, digest: str) -> SignedIn | None:
        """Return a session, and let it be as idle as it is; None if there is none."""
        return self._found(digest, None)

    def begin(
        self, caller: Caller, of: StandsFor, *, code: Unguessable | None = None, before: str = ""
    ) -> tuple[Unguessable, Session] | None:
        """Begin a session; return it with its id, which nobody had before. None: the code was used meanwhile.

        Args:
            caller: Who signs in.
            of: For whom the session is to stand.
            code: The one-time code that was given.
            before: The digest of the session that the browser had, which ends; empty for none.
        """
        session_id = Unguessable.new()
        new = NewSession(
            digest=session_id.digest,
            whose=of.whose,
            record=of.model_dump_json(),
            idle_ms=self.idle_seconds * 1000,
            lasting_ms=self.lasting_seconds * 1000,
            most=self._most,
            code="" if code is None else code.digest,
            before=before,
        )
        ends_ms = self._sessions.begin(new, by=caller.by)
        if ends_ms is None:
            return None
        self._recall(session_id.digest)
        return session_id, Session(session_id.digest, ends_ms)

    def end(self, caller: Caller, session: Session) -> None:
        """Sign out."""
        self._sessions.end(session.digest, by=caller.by)
        self._forget(session.digest)

    def new_code(self, token: Token) -> Unguessable:
        """Make a code by which one may sign in as a token would, once and for some minutes."""
        code = Unguessable.new()
        self._sessions.keep_code(code.digest, OfToken.of(token).model_dump_json(), seconds=CODE_SECONDS)
        return code

    def meant_by(self, code: Unguessable) -> StandsFor | None:
        """Return for whom a code stands, which is not used up by that; None if there is no such code."""
        record = self._sessions.code(code.digest)
        return None if record is None else read(record)

    def _found(self, digest: str, idle_ms: int | None) -> SignedIn | None:
        found = self._sessions.find(digest, idle_ms)
        of = None if found is None else read(found.record)
        if found is None or of is None:
            self._forget(digest)
            return None
        self._recall(digest)
        return SignedIn(Session(digest, found.ends_ms), of)

    def _recall(self, digest: str) -> None:
        with self._lock:
            self._recalled[digest] = None
            self._recalled.move_to_end(digest)
            while len(self._recalled) > _MOST_RECALLED:
                self._recalled.popitem(last=False)

    def _forget(self, digest: str) -> None:
        with self._lock:
            self._recalled.pop(digest, None)
