"""Suppresses what a message would publish: its result, the next step of its pipeline, its callbacks.

In the flow: the gate mutes what it skips and what ended under a lost grant, before the hooks that would publish it. To
skip is in order and not worth a warning, so that line of Dramatiq's is left out, for these messages only; likewise the
traceback of a body that was interrupted because its execution was cancelled.
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
    """Turn off, for this message, what stores its result and starts what follows it."""
    message.options["store_results"] = False
    for option in ("pipe_target", "group_completion_uuid", "group_completion_callbacks", "on_success", "on_failure"):
        message.options.pop(option, None)


def skip_silently(message: MessageProxy) -> NoReturn:
    """Do not run the body, and publish nothing.

    Raises:
        SkipMessage: Always.
    """
    suppress_publishing(message)
    setattr(message, _MARK, True)
    raise SkipMessage("the grant is not this process's, or there is none yet")


class _SilentEnds(logging.Filter):
    """Leaves out the warning about a message that was skipped silently, and the traceback of one that was cancelled."""

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
    """Filter the worker's log, once however often this is called."""
    logging.getLogger(WORKER_LOGGER).addFilter(_filter)
