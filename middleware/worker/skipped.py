"""Lets middleware know of a message that ended without a body, by the hooks of one that `AgeLimit` skips in Dramatiq.

In the flow: telling an end calls this, after the sender was told. A middleware that keeps a row for each message then
notes that it is over, as it does for ungated actors. If the process dies here, another worker tells the end again, with
these hooks.
"""

from contextvars import Context
from typing import Any

from dramatiq import Broker, Message, MessageProxy
from dramatiq.middleware import Middleware, MiddlewareError
from dramatiq.results import Results

from ...configs.logger import Logger

log = Logger(__name__)


def failed_proxy(message: "Message[Any]", error: BaseException) -> MessageProxy:
    """Return a message as hooks see it once it has failed for good."""
    failed = MessageProxy(message)
    failed.fail()
    failed.stuff_exception(error)
    return failed


def emit_skipped(broker: Broker, message: "Message[Any]", error: BaseException) -> None:
    """Call `after_skip_message` and `after_nack`; an exception of one hook is logged and stops no other.

    Args:
        broker: The broker, whose `Results` has stored the exception already.
        message: The message that ended.
        error: The exception that it ended with.
    """
    # In an empty context: what a hook sends is then a message like any other, not the follow-up of a body, and no span
    # or scope of this thread is closed by it.
    Context().run(_emit, broker, failed_proxy(message, error))


def _emit(broker: Broker, failed: MessageProxy) -> None:
    for each in broker.middleware:
        if _closes(each):
            _call(each, "before_process_message", broker, failed)
    broker.emit_after("skip_message", failed)
    for each in reversed(broker.middleware):
        if not isinstance(each, Results):
            _call(each, "after_nack", broker, failed)


def _closes(middleware: Middleware) -> bool:
    """Whether a skip undoes what `before_process_message` did, as a body's end does: both are one function.

    So it is in Prometheus's gauge of messages in progress, which would fall below zero, and in Sentry's scopes. The
    others must not see a body begin that never ran.
    """
    kind: Any = type(middleware)
    return kind.after_skip_message is kind.after_process_message


def _call(middleware: Middleware, hook: str, broker: Broker, failed: MessageProxy) -> None:
    try:
        getattr(middleware, hook)(broker, failed)
    except MiddlewareError:
        return  # it asks to skip the message, which is what happens
    except Exception:  # whatever it is, as in Dramatiq: it concerns this middleware alone
        log.exception("hook_failed", hook=hook, middleware=type(middleware).__name__, message_id=failed.message_id)
