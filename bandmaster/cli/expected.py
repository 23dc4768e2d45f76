"""The errors that a command may end with, and the sentence and exit code of each.

In the flow: loaded when a command ends with an error, or a command goes on in spite of one, since it imports the errors
of every package.
"""

from typing import Final

import redis

from bandmaster.admin.client.errors import ApiProblem, ApiUnavailable
from bandmaster.cli.exits import CommandFailed, Exit
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

EXPECTED: Final = (CommandFailed, BandmasterError, SettingsError, ExtraMissing, redis.RedisError)
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
