"""Exit codes of the commands, the mapping from errors to codes, and the errors that commands raise themselves.

In the flow: `app.main` turns every error into one line on standard error and one of these codes; nothing else exits.
"""

from enum import IntEnum
from typing import Final

import redis

from bandmaster.admin.client.errors import ApiProblem, ApiUnavailable
from bandmaster.configs.errors import ExtraMissing, SettingsError
from bandmaster.items.errors import ItemsRefused, ItemUnknown, NotificationUnknown, QueueUnknown, TriggerUnknown
from bandmaster.k8s.errors import PodNotFound, PodRejected, PodsUnavailable
from bandmaster.ledger.errors import (
    AnotherQueue,
    JournalUnread,
    LedgerEmpty,
    LedgerMissing,
    LedgerUnavailable,
    QueueNotEmpty,
    SchemaMismatch,
    UserHasItems,
    UserHasSchedules,
    UserHasWork,
)
from bandmaster.scheduler.model.errors import (
    AmbiguousExecution,
    BandmasterError,
    InvalidRequest,
    QueueRejected,
    QueueUnavailable,
    ScheduleExists,
    UnknownExecution,
    UnknownSchedule,
)


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

EXPECTED: Final = (BandmasterError, SettingsError, ExtraMissing, redis.RedisError)
"""The errors that a command may raise; any other is a defect, and its traceback is shown."""

_CODES: Final[tuple[tuple[type[Exception], Exit], ...]] = (
    # The first match counts: InvalidRequest is a QueueRejected, too.
    (InvalidRequest, Exit.USAGE),
    (SettingsError, Exit.USAGE),
    (ExtraMissing, Exit.USAGE),
    (PodRejected, Exit.USAGE),
    (QueueRejected, Exit.REJECTED),
    (UnknownExecution, Exit.NOT_FOUND),
    (UnknownSchedule, Exit.NOT_FOUND),
    (ScheduleExists, Exit.REJECTED),
    (QueueUnknown, Exit.NOT_FOUND),
    (ItemUnknown, Exit.NOT_FOUND),
    (TriggerUnknown, Exit.NOT_FOUND),
    (NotificationUnknown, Exit.NOT_FOUND),
    (ItemsRefused, Exit.REJECTED),
    (AmbiguousExecution, Exit.USAGE),
    (PodNotFound, Exit.NOT_FOUND),
    (QueueUnavailable, Exit.UNAVAILABLE),
    (PodsUnavailable, Exit.UNAVAILABLE),
    (LedgerUnavailable, Exit.UNAVAILABLE),
    (SchemaMismatch, Exit.USAGE),
    (LedgerMissing, Exit.USAGE),
    (AnotherQueue, Exit.USAGE),
    (QueueNotEmpty, Exit.USAGE),
    (UserHasWork, Exit.REJECTED),
    (UserHasItems, Exit.REJECTED),
    (UserHasSchedules, Exit.REJECTED),
    (JournalUnread, Exit.UNAVAILABLE),
    (LedgerEmpty, Exit.USAGE),
    (ApiUnavailable, Exit.UNAVAILABLE),
    (redis.RedisError, Exit.UNAVAILABLE),
)

_OF_PROBLEM: Final[dict[str, Exit]] = {
    "not_found": Exit.NOT_FOUND,
    **dict.fromkeys(
        ("duplicate", "schedule_exists", "queue_full", "user_limit", "rate_limited", "idempotency_key_reused"),
        Exit.REJECTED,
    ),
    **dict.fromkeys(
        ("queue_inactive", "name_taken", "queue_has_items", "queue_has_triggers", "wrong_status", "too_many_files"),
        Exit.REJECTED,
    ),
    **dict.fromkeys(
        ("redis_unavailable", "ledger_unavailable", "pods_unavailable", "too_slow", "busy"), Exit.UNAVAILABLE
    ),
    **dict.fromkeys(("unauthorized", "forbidden", "host_not_allowed", "origin_not_allowed"), Exit.USAGE),
    **dict.fromkeys(("invalid", "ambiguous", "too_large", "method_not_allowed", "refused"), Exit.USAGE),
}
"""The exit code for a problem's code; any other: FAILED."""


class CommandFailed(BandmasterError):
    """A command failed; the message is the whole sentence that is printed."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


class WrongUsage(CommandFailed):
    """The arguments are wrong; nothing was done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.USAGE)


def sentence_of(error: Exception) -> str:
    """The message of an expected error."""
    if isinstance(error, ApiProblem):
        return error.detail
    return f"the server did not answer: {error}" if isinstance(error, redis.RedisError) else str(error)


def exit_of(error: Exception) -> Exit:
    """The exit code of an expected error."""
    if isinstance(error, CommandFailed):
        return error.code
    if isinstance(error, ApiProblem):
        return _OF_PROBLEM.get(error.code, Exit.FAILED)
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.FAILED)
