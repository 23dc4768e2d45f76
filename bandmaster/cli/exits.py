"""Exit codes of the commands, and the errors that commands raise themselves.

In the flow: `app.run` turns every error into one line on standard error and one of these codes; nothing else exits.
`expected.py` knows the codes of all other errors.
"""

from enum import IntEnum
from typing import Final


class Exit(IntEnum):
    """The exit codes; MEANINGS explains them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    UNAVAILABLE = 4
    REJECTED = 5
    INTERRUPTED = 130
    UNREAD = 141


MEANINGS: Final = {
    Exit.OK: "done",
    Exit.FAILED: "what was asked about failed (an execution, part of `up`, the ledger)",
    Exit.USAGE: "wrong usage, input or settings, or a missing extra; nothing was done",
    Exit.NOT_FOUND: "no such execution, schedule, queue, item or trigger",
    Exit.UNAVAILABLE: "a server does not answer: Redis, the API, the cluster or the database",
    Exit.REJECTED: "not accepted: full, too many of one user, a duplicate, a wrong state",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.UNREAD: "whoever read its output has gone",
}
"""The meaning of each code; ``bandmaster --help`` shows this table."""


class CommandFailed(Exception):
    """A command failed; the message is the whole sentence that is printed."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


class WrongUsage(CommandFailed):
    """The arguments are wrong; nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.USAGE)
