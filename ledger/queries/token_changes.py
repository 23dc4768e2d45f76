"""What the making and the end of a token changed, as texts for the audit; read from the tokens' own rows.

In the flow: `operators.py` asks here for the tokens on its page, in one query. No secret is read.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select

from ...scheduler.model.priority import Priority
from ...scheduler.model.times import iso_of
from ..schema.tables import tokens

CREATED: Final = "create_token"
REVOKED: Final = "revoke_token"


@dataclass(frozen=True, slots=True)
class TokenChange:
    """One token."""

    allows: str
    """What it allowed when it was made."""
    had_expired: bool
    """Whether it was over before it was revoked."""

    def values(self, verb: str) -> tuple[str | None, str]:
        """What was before and after its making or its end."""
        if verb == CREATED:
            return None, self.allows
        return "expired" if self.had_expired else self.allows, "revoked"


def token_changes(connection: Connection, token_ids: Collection[str]) -> dict[str, TokenChange]:
    """Return what is to be said of these tokens, by id."""
    if not token_ids:
        return {}
    of = tokens.c
    query = select(of.token_id, of.owner, of.scopes, of.max_band, of.gates, of.expires_ms, of.revoked_ms)
    query = query.add_columns(of.robot_id, of.queues)
    rows = connection.execute(query.where(of.token_id.in_(token_ids))).all()
    return {row.token_id: _change(row) for row in rows}


def _change(row: Any) -> TokenChange:
    parts = [f"owner {row.owner}", f"scopes {row.scopes}", f"up to {Priority(row.max_band).name}"]
    if row.gates is not None:
        parts.append(f"gates {' '.join(row.gates.split())}")
    if row.robot_id is not None:
        parts.append(f"robot {row.robot_id}")
    if row.queues is not None:
        parts.append(f"queues {' '.join(row.queues.split())}")
    if row.expires_ms is not None:
        parts.append(f"until {iso_of(row.expires_ms)}")
    had_expired = None not in (row.expires_ms, row.revoked_ms) and row.expires_ms <= row.revoked_ms
    return TokenChange("; ".join(parts), had_expired)
