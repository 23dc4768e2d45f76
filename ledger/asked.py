"""Who asked for a change, as the journal names it: ``Asked``, and which names are those of a user.

In the flow: the API notes `owner (token ID, ADDRESS)`, or `login` for a user of an OpenID provider; the command line
`user@host`. The audit takes such a name apart, and forgetting a user finds all that are the user's. Nothing here does
I/O.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, func, or_

_AFTER_A_NAME: Final = ("@", " (token ", " (login ")
"""What follows a name: its host, at the command line, its token, or its login with a provider."""
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
    return by == user_id or by.startswith(tuple(user_id + end for end in _AFTER_A_NAME))


def are_asked_by(column: Column[Any], user_id: str) -> ColumnElement[bool]:
    """The same as a condition on a column."""
    names = (user_id + end for end in _AFTER_A_NAME)
    return or_(column == user_id, *(func.substr(column, 1, len(name)) == name for name in names))
