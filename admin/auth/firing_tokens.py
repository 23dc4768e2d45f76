"""``FiringTokens``: finds the token that a trigger's execution got, which is kept nowhere.

In the flow: the keeper asks here for ids of such tokens. Whether one was made with a key of this API is worked out
without asking anybody; whether its firing still lives, the database is asked for each request, as nothing may be done
by it any more once the execution's end, which settles its items, is written. So it needs no revoking. If the process
dies here, nothing is lost; if the database does not answer, such a token cannot be used.
"""

from sqlalchemy import select

from ...ledger.queries.asking import Asking
from ...ledger.schema.tables import firings
from ...scheduler.model.item_tokens import execution_of, secret_of, token_id_of
from .item_keys import ItemKeys
from .scopes import Scope
from .secrets import Secret
from .tokens import Token


class FiringTokens:
    """The tokens of the executions of one ledger's triggers. Safe to share between threads."""

    def __init__(self, asking: Asking, keys: ItemKeys) -> None:
        """Makes no connection.

        Args:
            asking: The ledger.
            keys: Of which such tokens are made.
        """
        self._asking = asking
        self._keys = keys

    def made(self, secret: Secret) -> Token | None:
        """Return the token of an execution that was sent, if it was made with a key; whether it is valid yet or still,
        only `find` knows."""
        execution_id = execution_of(secret.token_id)
        if execution_id is None or token_id_of(execution_id) != secret.token_id:
            return None
        for key in self._keys.known():
            expected = Secret.of(secret.token_id, secret_of(key, execution_id))
            if secret.matches(expected.digest):
                return Token(
                    token_id=secret.token_id,
                    digest=expected.digest,
                    owner=execution_id,
                    scopes=frozenset({Scope.SETTLE}),
                    gates=(),
                    created_by="a trigger",
                    robot_id=execution_id,
                    execution_id=execution_id,
                )
        return None

    def find(self, secret: Secret) -> Token | None:
        """Return the token of an execution whose firing lives; None if there is none. It does not wait long.

        Raises:
            LedgerError: If the database does not answer.
        """
        token = self.made(secret)
        if token is None or not self._asking.soon(lambda: self._lives(token.owner)):
            return None
        return token

    def _lives(self, execution_id: str) -> bool:
        of = firings.c
        living = select(of.execution_id).where(of.execution_id == execution_id, of.ended_ms.is_(None))
        with self._asking.reading() as connection:
            return connection.execute(living).first() is not None
