"""The token of a trigger's execution: made of the execution's id and a key, and kept nowhere.

In the flow: a worker makes it for the file that a program finds, and the API makes it again of the id in it, and
compares. So it is in no table, no event and no journal; made twice, it is the same; and what it opens ends with the
firing, which the API asks for. A process that dies here leaves nothing. Pure.
"""

import base64
import hmac
import re
from typing import Final

OF_TRIGGERS: Final = "trigger:"
"""How the ids of executions begin that a trigger started."""
ITEMS_VARIABLE: Final = "BANDMASTER_ITEMS_FILE"
"""In which a program finds the path of the file with the items that it works on, and their token."""
_OF_TOKENS: Final = "items."
_EXECUTION: Final = re.compile(rf"{OF_TRIGGERS}[A-Za-z0-9:-]+")
_ID_MAX_CHARS: Final = 64
_PURPOSE: Final = b"bandmaster: the items of execution "


def token_id_of(execution_id: str) -> str | None:
    """Return the id of an execution's token; None: it gets none.

    Args:
        execution_id: Of the execution. No other one has this token's id: a trigger's has no dot.
    """
    if not _EXECUTION.fullmatch(execution_id):
        return None
    token_id = _OF_TOKENS + execution_id.removeprefix(OF_TRIGGERS).replace(":", ".")
    return token_id if len(token_id) <= _ID_MAX_CHARS else None


def execution_of(token_id: str) -> str | None:
    """Return the execution whose token has this id; None: it is no such token's."""
    if not token_id.startswith(_OF_TOKENS):
        return None
    return OF_TRIGGERS + token_id.removeprefix(_OF_TOKENS).replace(".", ":")


def secret_of(key: bytes, execution_id: str) -> str:
    """Return the secret part of an execution's token, 43 characters."""
    made = hmac.digest(key, _PURPOSE + execution_id.encode(), "sha256")
    return base64.urlsafe_b64encode(made).decode().rstrip("=")


def item_token(key: bytes, execution_id: str) -> str | None:
    """Return the text of an execution's token; None: it gets none, as no trigger started it."""
    token_id = token_id_of(execution_id)
    return None if token_id is None else f"bm_{token_id}_{secret_of(key, execution_id)}"
