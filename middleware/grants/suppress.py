"""Suppresses everything that a message would publish: its result, the next step of its pipeline, its callbacks.

In the flow: the gate calls this for messages that it skips or that ended under a lost grant, before the hooks that
publish. Such a skip is normal, so Dramatiq's warning is filtered out, for these messages only. So is the traceback of a
body that was interrupted because its execution was cancelled.
"""

import logging
from typing import Final, NoReturn

from dramatiq import MessageProxy
from dramatiq.middleware import SkipMessage

from .cancellation import ExecutionCancelled

WORKER_LOGGER: Final = "dramatiq.worker.WorkerThread"
SKIP_LINE: Final = "Message %s was skipped."
RAISED_LINE: Final = "Failed to process message %s with unhandled exception."
_MARK: Final = "skipped_silently"


def suppress_publishing(message: MessageProxy) -> None:
    """Turn off a message's result, the next step of its pipeline and its callbacks."""
    message.options["store_results"] = False
    for option in ("pipe_target", "group_completion_uuid", "group_completion_callbacks", "on_success", "on_failure"):
        message.options.pop(option, None)


def skip_silently(message: MessageProxy) -> NoReturn:
    """Skip a message: its body does not run, and nothing is published.

    Raises:
        SkipMessage: Always.
    """
    suppress_publishing(message)
    setattr(message, _MARK, True)
    raise SkipMessage("the grant is not this process's, or there is none yet")


class _SilentEnds(logging.Filter):
    """Filters out the warning about a silently skipped message, and the traceback of a cancelled one."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg == RAISED_LINE and record.exc_info and isinstance(record.exc_info[1], ExecutionCancelled):
            return False
        arguments = record.args
        if record.msg != SKIP_LINE or not isinstance(arguments, tuple) or len(arguments) != 1:
            return True
        (message,) = arguments
        return not (isinstance(message, MessageProxy) and _MARK in vars(message))


_filter = _SilentEnds()


def leave_out_silent_ends() -> None:
    """Add the filter to the worker's logger; repeated calls add it only once."""
    logging.getLogger(WORKER_LOGGER).addFilter(_filter)
