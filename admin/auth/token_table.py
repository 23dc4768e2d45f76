"""Tokens in the ledger's database: made, found, listed and revoked.

In the flow: ``bandmaster token`` and the API's own routes make and revoke them; the keeper finds them. A token that is
revoked stays in the table, since what it did names it. Times are the database's.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from ...ledger.database import now_ms
from ...ledger.queries.asking import Asking
from ...ledger.schema.tables import tokens
from ...scheduler.model.priority import Priority
from .scopes import Scope
from .secrets import check_token_id
from .tokens import Token


class TokenTable:
    """The tokens of one ledger. Safe to share between threads. Each method raises LedgerError if it cannot, and
    InvalidRequest if an id cannot be one."""

    def __init__(self, asking: Asking) -> None:
        """Makes no connection."""
        self._asking = asking

    def add(self, token: Token) -> Token:
        """Keep a new token; return it with its time."""
        with self._asking.writing() as connection:
            created_ms = _now(connection)
            connection.execute(
                insert(tokens).values(
                    token_id=token.token_id,
                    secret_digest=token.digest,
                    owner=token.owner,
                    scopes=" ".join(sorted(token.scopes)),
                    max_band=int(token.max_band),
                    gates=None if token.gates is None else "\n".join(token.gates),
                    created_ms=created_ms,
                    created_by=token.created_by,
                    expires_ms=token.expires_ms,
                    robot_id=token.robot_id,
                    queues=None if token.queues is None else "\n".join(token.queues),
                )
            )
        return replace(token, created_ms=created_ms)

    def find(self, token_id: str) -> Token | None:
        """Return a token by its id, a revoked one too; None if there is none. It does not wait long."""
        return self._asking.soon(lambda: self._find(token_id))

    def _find(self, token_id: str) -> Token | None:
        with self._asking.reading() as connection:
            row = connection.execute(select(tokens).where(_is(token_id))).mappings().one_or_none()
        return None if row is None else _token_of(row)

    def all(self) -> list[Token]:
        """Return all tokens, the latest first."""
        with self._asking.reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.created_ms.desc(), tokens.c.token_id)).mappings()
            return [_token_of(row) for row in rows]

    def revoke(self, token_id: str, *, by: str) -> Token | None:
        """End a token; return it as it is now, None if there is none. One that was revoked before stays as it was."""
        with self._asking.writing() as connection:
            connection.execute(
                update(tokens)
                .where(_is(token_id), tokens.c.revoked_ms.is_(None))
                .values(revoked_ms=_now(connection), revoked_by=by)
            )
            row = connection.execute(select(tokens).where(_is(token_id))).mappings().one_or_none()
        return None if row is None else _token_of(row)

    def note_use(self, token_id: str) -> None:
        """Note that a token was used."""
        with self._asking.writing() as connection:
            at_ms = _now(connection)
            minute_ms = at_ms // 60_000 * 60_000
            connection.execute(update(tokens).where(_is(token_id)).values(used_ms=minute_ms))


def _is(token_id: str) -> ColumnElement[bool]:
    # PostgreSQL has no text with NUL: such an id is an error of the caller's, not of the database.
    return tokens.c.token_id == check_token_id(token_id)


def _now(connection: Connection) -> int:
    return connection.execute(select(now_ms())).scalar_one()


def _token_of(row: Mapping[Any, Any]) -> Token:
    return Token(
        token_id=row["token_id"],
        digest=row["secret_digest"],
        owner=row["owner"],
        scopes=frozenset(map(Scope, row["scopes"].split())),
        max_band=Priority(row["max_band"]),
        gates=None if row["gates"] is None else tuple(row["gates"].split("\n")),
        created_ms=row["created_ms"],
        created_by=row["created_by"],
        expires_ms=row["expires_ms"],
        revoked_ms=row["revoked_ms"],
        used_ms=row["used_ms"],
        robot_id=row["robot_id"],
        queues=None if row["queues"] is None else tuple(row["queues"].split("\n")),
    )
