"""``Keeper``: finds the token that a caller sent, wherever it is kept.

In the flow: each request asks here first. What the database said of a token holds for some seconds, so that revoking
one takes effect within them, and a busy caller costs no query a request. If the database does not answer, a token that
it knew a few minutes ago is taken for good: nobody can revoke one meanwhile either, and operators need the API most
when things fail. Tokens of the file and the local one need no database. Those of executions (`firing_tokens.py`) hold
for one request only.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ...ledger.errors import LedgerError
from ...scheduler.model.item_tokens import execution_of
from .firing_tokens import FiringTokens
from .secrets import Secret
from .token_file import TokenFile
from .token_table import TokenTable
from .tokens import Token

FRESH_SECONDS: Final = 3.0
STALE_SECONDS: Final = 300.0
USE_NOTED_SECONDS: Final = 60.0
_MOST_KEPT: Final = 10_000


@dataclass(slots=True)
class _Known:
    token: Token
    asked_at: float
    """When the database was last asked, whether it answered or not."""
    answered_at: float
    noted_at: float = float("-inf")
    """When its use was last noted."""

    def is_fresh(self, now: float) -> bool:
        """Whether it need not be asked for."""
        return now - self.asked_at < FRESH_SECONDS and now - self.answered_at < STALE_SECONDS


class Keeper:
    """All tokens of one API. Safe to share between threads."""

    def __init__(
        self,
        *,
        local: Token | None = None,
        file: TokenFile | None = None,
        table: TokenTable | None = None,
        firing: FiringTokens | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Makes no connection.

        Args:
            local: The token of a local API.
            file: The tokens of a file.
            table: The tokens of the ledger's database.
            firing: The tokens of the executions of triggers.
            clock: Seconds that only grow.
            wall_clock: Unix seconds, for expiry.
        """
        self.table = table
        self._local = local
        self._file = file
        self._firing = firing
        self._clock = clock
        self._wall_clock = wall_clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, secret: Secret) -> Token | None:
        """Return the token, if it is valid and nothing has to be asked for that; None if somebody has to be asked."""
        if self._local is not None and secret.token_id == self._local.token_id:
            return self._valid(secret, self._local)
        of_file = None if self._file is None else self._file.find(secret.token_id)
        if of_file is not None:
            return self._valid(secret, of_file)
        with self._lock:
            known = self._known.get(secret.token_id)
            if known is None or not known.is_fresh(self._clock()):
                return None
        return self._valid(secret, known.token)

    def is_made(self, secret: Secret) -> bool:
        """Whether this is the token of an execution that only a worker can have made; `find` knows if it is valid."""
        return self._firing is not None and self._firing.made(secret) is not None

    def recalls(self, secret: Secret) -> bool:
        """Whether this is a token that was valid when somebody was last asked for it, however long ago."""
        with self._lock:
            known = self._known.get(secret.token_id)
        return known is not None and self._valid(secret, known.token) is not None

    def find(self, secret: Secret) -> Token | None:
        """Return the token whose secret a caller sent; None if there is no such token that is valid.

        Raises:
            LedgerError: If only the database could tell, and it does not answer.
        """
        kept = self._valid(secret, self._kept(secret.token_id))
        return self._firing.find(secret) if kept is None and self._firing is not None else kept

    def is_use_to_note(self, token: Token) -> bool:
        """Whether the use of a token is to be noted: once a minute, and if it is one of the database's."""
        with self._lock:
            known = self._known.get(token.token_id)
            return known is not None and self._clock() - known.noted_at >= USE_NOTED_SECONDS

    def note_use(self, token: Token) -> None:
        """Note that a token was used, once a minute, if it is one of the database's.

        Raises:
            LedgerError: If the database does not answer.
        """
        with self._lock:
            known, now = self._known.get(token.token_id), self._clock()
            if self.table is None or known is None or now - known.noted_at < USE_NOTED_SECONDS:
                return
            known.noted_at = now
        self.table.note_use(token.token_id)

    def _valid(self, secret: Secret, token: Token | None) -> Token | None:
        if token is None or not secret.matches(token.digest):
            return None
        return token if token.is_valid(int(self._wall_clock() * 1000)) else None

    def forget(self, token_id: str) -> None:
        """Ask the database when this token comes next."""
        with self._lock:
            self._known.pop(token_id, None)

    def _kept(self, token_id: str) -> Token | None:
        if self._local is not None and token_id == self._local.token_id:
            return self._local
        found = None if self._file is None else self._file.find(token_id)
        if found is not None or self.table is None or execution_of(token_id) is not None:
            return found
        now = self._clock()
        with self._lock:
            known = self._known.get(token_id)
            if known is not None:
                if known.is_fresh(now):
                    return known.token
                # While one asks, the others take what was known: a database that hangs holds up one, not all.
                known.asked_at = now
        return self._asked(self.table, token_id, known, now)

    def _asked(self, table: TokenTable, token_id: str, known: _Known | None, now: float) -> Token | None:
        try:
            token = table.find(token_id)
        except LedgerError:
            if known is not None and now - known.answered_at < STALE_SECONDS:
                return known.token
            raise
        with self._lock:
            self._known.pop(token_id, None)
            if token is not None:
                noted_at = float("-inf") if known is None else known.noted_at
                self._known[token_id] = _Known(token, now, now, noted_at)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
        return token
