"""Context variables: the message and the table entry that the calling code works on, and whether its hooks run.

Context variables, so that the body of an `async` actor, which runs on the event loop's thread, sees its own grant.
Nothing here outlives the process.
"""

from contextvars import ContextVar

from dramatiq import MessageProxy

from ...scheduler.engine.grants import Grant
from ..intake.execution_ids import DELIVERY_ID
from .table import Entry

_entry: ContextVar[Entry | None] = ContextVar("bandmaster_entry", default=None)
_message: ContextVar[MessageProxy | None] = ContextVar("bandmaster_message", default=None)
_settling: ContextVar[bool] = ContextVar("bandmaster_settling", default=False)


def enter(entry: Entry | None, message: MessageProxy | None = None) -> None:
    """This thread now works on a message, under this entry or under none."""
    _entry.set(entry)
    _message.set(message)
    _settling.set(False)


def settle() -> None:
    """The body is over: what is enqueued now comes from a hook, and nobody catches its refusal."""
    _settling.set(True)


def leave() -> None:
    """The message is done with."""
    enter(None)


def current_entry() -> Entry | None:
    """The entry that the calling code works on."""
    return _entry.get()


def leave_grant() -> None:
    """Let the calling body's end settle nothing: nobody knows if its slot may be given back, so its lease runs out."""
    entry = _entry.get()
    if entry is not None:
        entry.lost = entry.stale = True


def is_settling() -> bool:
    """Whether hooks run after a body, in this thread."""
    return _settling.get()


def current_origin() -> str:
    """What names the work whose hooks run: its execution, or, if it is not gated, the delivery of its message."""
    entry, message = _entry.get(), _message.get()
    if entry is not None:
        return entry.grant.execution_id
    return "" if message is None else f"{message.message_id}/{message.options.get(DELIVERY_ID) or ''}"


def current_grant() -> Grant | None:
    """The grant under which the calling actor's body runs; None outside a gated actor."""
    entry = _entry.get()
    return None if entry is None else entry.grant
