"""``Token``: who a caller is, and what it may do. ``Caller``: the token of one request, and from where it came.

A user of an OpenID provider has none; what such a one may do is a ``Token`` that is made for each request, and kept
nowhere (``users.py``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from ...scheduler.model.operators import BY_MAX_CHARS
from ...scheduler.model.priority import Priority
from .scopes import INCLUDED, Scope

CALLER: Final = "caller"
"""The attribute of a request's state that has who sent it."""
OF_USER: Final = "oidc:"
"""How the id begins by which a user of a provider is known; a token's has no colon."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept, without its secret. Times are Unix milliseconds."""

    token_id: str
    """Of a user: of issuer and subject."""
    digest: str
    owner: str
    """The user as whom its executions count, and whose executions it sees."""
    scopes: frozenset[Scope]
    max_band: Priority = Priority.NORMAL
    """The most urgent priority that it may ask for."""
    gates: tuple[str, ...] | None = None
    """Patterns of the gates that its executions may name, like ``tenant:*``; None: any but others' own."""
    created_ms: int = 0
    created_by: str = ""
    expires_ms: int | None = None
    revoked_ms: int | None = None
    used_ms: int | None = None
    """When it was last used, to the minute."""
    robot_id: str | None = None
    """Of a robot's token: as which robot it takes items."""
    queues: tuple[str, ...] | None = None
    """The queues whose items it may add, take and settle as a robot; None: all."""
    execution_id: str | None = None
    """Of the token of a trigger's execution: which, and it knows the items of this one only."""

    def is_valid(self, now_ms: int) -> bool:
        """Whether it was not revoked, and has not expired."""
        return self.revoked_ms is None and (self.expires_ms is None or now_ms < self.expires_ms)

    def may(self, scope: Scope) -> bool:
        """Whether its scopes include this one."""
        return any(scope in INCLUDED[each] for each in self.scopes)

    def foreign_gates(self, gates: Sequence[str], *, action: str) -> list[str]:
        """Return those of some gates that its executions of an action may not name.

        Who may name any may still not fill the gates of other users and of other actions.
        """
        if self.gates is None:
            own = (f"user:{self.owner}", f"action:{action}")
            return [gate for gate in gates if gate.startswith(("user:", "action:")) and gate not in own]
        return [gate for gate in gates if not any(fnmatchcase(gate, pattern) for pattern in self.gates)]


@dataclass(frozen=True, slots=True)
class Session:
    """By what a browser is signed in."""

    digest: str
    """Of its id."""
    ends_ms: int
    """When it ends at the latest, Unix milliseconds."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request."""

    token: Token
    address: str
    session: Session | None = None
    """None: it sent the token itself."""

    @property
    def by(self) -> str:
        """The name under which the journal keeps what this caller changes."""
        kind = "login" if self.token.token_id.startswith(OF_USER) else "token"
        text = f"{self.token.owner} ({kind} {self.token.token_id}, {self.address})"
        return "".join(each if each.isprintable() else "?" for each in text)[:BY_MAX_CHARS]

    def sees(self, user_id: str | None) -> bool:
        """Whether the executions of a user are shown to this caller."""
        return self.token.may(Scope.OPERATE) or (user_id is not None and user_id == self.token.owner)

    def sees_gate(self, gate: str) -> bool:
        """Whether a gate is shown to this caller: its token says that it may name it, or it sees those of everybody."""
        if self.token.may(Scope.OPERATE):
            return True
        return self.token.gates is not None and not self.token.foreign_gates([gate], action="")

    def reads_payload_of(self, user_id: str | None) -> bool:
        """Whether this caller may read what a user's executions run and print."""
        return self.token.may(Scope.ADMIN) or (user_id is not None and user_id == self.token.owner)
