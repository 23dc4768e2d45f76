"""How a command ends: the exit codes, which error means which, and the error that a command raises itself.

In the flow: `app.main` turns every error into one line on standard error and one of these codes; nothing else exits.
"""

from enum import IntEnum
from typing import Final

import redis

from bandmaster.configs.errors import ExtraMissing, SettingsError
from bandmaster.k8s.errors import PodNotFound, PodRejected, PodsUnavailable
from bandmaster.scheduler.model.errors import (
    AmbiguousExecution,
    BandmasterError,
    InvalidRequest,
    QueueRejected,
    QueueUnavailable,
    UnknownExecution,
)


class Exit(IntEnum):
    """The exit codes; what each means stands in MEANINGS."""

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
    Exit.FAILED: "what was asked about failed (a waited-for execution, a process of `up`)",
    Exit.USAGE: "wrong usage, input or settings, or a missing extra; nothing was done",
    Exit.NOT_FOUND: "no such execution",
    Exit.UNAVAILABLE: "the server does not answer",
    Exit.REJECTED: "not accepted: queue full, too many of one user, or a duplicate",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.UNREAD: "whoever read its output has gone",
}
"""Code → what it means; the one table, shown by ``bandmaster --help``."""

EXPECTED: Final = (BandmasterError, SettingsError, ExtraMissing, redis.RedisError)
"""What a command may raise; anything else is a defect, and keeps its traceback."""

_CODES: Final[tuple[tuple[type[Exception], Exit], ...]] = (
    # The first that fits: InvalidRequest is a QueueRejected, too.
    (InvalidRequest, Exit.USAGE),
    (SettingsError, Exit.USAGE),
    (ExtraMissing, Exit.USAGE),
    (PodRejected, Exit.USAGE),
    (QueueRejected, Exit.REJECTED),
    (UnknownExecution, Exit.NOT_FOUND),
    (AmbiguousExecution, Exit.USAGE),
    (PodNotFound, Exit.NOT_FOUND),
    (QueueUnavailable, Exit.UNAVAILABLE),
    (PodsUnavailable, Exit.UNAVAILABLE),
    (redis.RedisError, Exit.UNAVAILABLE),
)


class CommandFailed(BandmasterError):
    """A command could not do what it was asked; the message is the whole sentence."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


class WrongUsage(CommandFailed):
    """What was typed cannot be meant; nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.USAGE)


def sentence_of(error: Exception) -> str:
    """What is said of an error that was expected."""
    return f"the server did not answer: {error}" if isinstance(error, redis.RedisError) else str(error)


def exit_of(error: Exception) -> Exit:
    """The code of an error that was expected."""
    if isinstance(error, CommandFailed):
        return error.code
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.FAILED)
