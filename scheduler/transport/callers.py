"""Names of concurrent callers: name and rising number are the request token of a call.

In the flow: `Scripts` takes a name for each call whose effect must not happen twice; name and number are its request
token. Redis keeps the last answer to each name (`reply:{caller}`), so the names are one stock for the whole process,
whichever queue objects, clients and servers it has: there are as many as calls that were under way at once. If the
process dies here, its answers run out of their TTL.
"""

import itertools
import os
import secrets
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final


def _new_name() -> bytes:
    return secrets.token_urlsafe(9).encode()


@dataclass(slots=True)
class Caller:
    """A name and its rising numbers, of one process: a fork must not use the same tokens."""

    name: bytes = field(default_factory=_new_name)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    process_id: int = field(default_factory=os.getpid)


class Callers:
    """A stock of names. Safe to share between threads and across forks."""

    def __init__(self) -> None:
        # The last one given back is taken first, so that few are in use.
        self._free: deque[Caller] = deque()

    def take(self) -> Caller:
        """A name that nobody else uses until it is given back."""
        while True:
            try:
                caller = self._free.pop()
            except IndexError:
                return Caller()
            if caller.process_id == os.getpid():
                return caller

    def give_back(self, caller: Caller) -> None:
        """Let later calls use a name. If its last call is still under way somewhere, it will be refused."""
        self._free.append(caller)


CALLERS: Final = Callers()
"""This process's."""
