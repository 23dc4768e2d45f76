"""Who asked for a change, as the journal names it: ``Asked``, and which names are those of a user.

In the flow: the API notes `owner (token ID, ADDRESS)`, or `login` for a user of an OpenID provider; the command line
`user@host`. The audit takes such a name apart, and forgetting a user finds all that are the user's. Nothing here does
I/O.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, and_, func, not_, or_

_OF_THE_API: Final = (" (token ", " (login ")
"""What follows a name there: its token, or its login with a provider. Elsewhere it is `@` and a host."""
_OF_API: Final = re.compile(r"(?P<who>.+) \((?:token|login) (?P<token_id>[^ ,()]+), (?P<address>[^ ,()]+)\)")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked."""

    who: str
    """The owner of a token, or user and host."""
    token_id: str | None = None
    address: str | None = None
    """From where; None, as is the token: it was not the API."""


def read_asked(by: str) -> Asked:
    """Take a name of the journal apart."""
    found = _OF_API.fullmatch(by)
    return Asked(by) if found is None else Asked(**found.groupdict())


def is_asked_by(by: str, user_id: str) -> bool:
    """Whether this is the name of a user."""
    if by.startswith(f"{user_id}@"):
        # The name may be an address itself: then it is another one's.
        return not any(end in by for end in _OF_THE_API)
    return by == user_id or by.startswith(tuple(user_id + end for end in _OF_THE_API))


def are_asked_by(column: Column[Any], user_id: str) -> ColumnElement[bool]:
    """The same as a condition on a column."""
    at_a_host = and_(_begins(column, f"{user_id}@"), *(not_(column.contains(end)) for end in _OF_THE_API))
    return or_(column == user_id, at_a_host, *(_begins(column, user_id + end) for end in _OF_THE_API))


def _begins(column: Column[Any], name: str) -> ColumnElement[bool]:
    # Not LIKE, for which SQLite takes "A" and "a" for the same.
    return func.substr(column, 1, len(name)) == name
