"""Names of concurrent callers: name and rising number are the request token of a call.

In the flow: `Scripts` takes a name for each call whose effect must not happen twice. Redis keeps the last answer to
each name under a key (`reply:{caller}`). To keep these few, the whole process shares one stock of names, whatever queue
objects, clients and servers it has: it makes only as many names as calls were under way at once. If the process dies
here, its answers expire by their TTL.
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
    """A name and its rising numbers. They belong to one process: a fork must not use the same tokens."""

    name: bytes = field(default_factory=_new_name)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    process_id: int = field(default_factory=os.getpid)


class Callers:
    """A stock of names. Safe to share between threads and across forks."""

    def __init__(self) -> None:
        # The name given back last is taken first, so that few names are in use.
        self._free: deque[Caller] = deque()

    def take(self) -> Caller:
        """Return a name that no other call uses until it is given back."""
        while True:
            try:
                caller = self._free.pop()
            except IndexError:
                return Caller()
            if caller.process_id == os.getpid():
                return caller

    def give_back(self, caller: Caller) -> None:
        """Let later calls use a name. After one of them, the server refuses the earlier call, if it still arrives."""
        self._free.append(caller)


CALLERS: Final = Callers()
"""The stock of this process."""
