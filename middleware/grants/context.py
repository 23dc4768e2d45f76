"""Context variables: the message and the table entry that the calling code works on, and whether its hooks run.

They are not thread-locals, since the body of an `async` actor runs on the event loop's thread and needs its own grant.
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
    """Note that this thread now works on a message, under this entry or under none."""
    _entry.set(entry)
    _message.set(message)
    _settling.set(False)


def settle() -> None:
    """Note that the body is over: from now on hooks enqueue messages, and nobody catches their refusals."""
    _settling.set(True)


def leave() -> None:
    """Note that this thread works on no message any more."""
    enter(None)


def current_entry() -> Entry | None:
    """Return the entry that the calling code works on."""
    return _entry.get()


def leave_grant() -> None:
    """Let the calling body end without a settlement, until its lease runs out: its slot may still be in use."""
    entry = _entry.get()
    if entry is not None:
        entry.lost = entry.stale = True


def is_settling() -> bool:
    """Whether hooks run after a body, in this thread."""
    return _settling.get()


def current_origin() -> str:
    """Return a name for the work whose hooks run: its execution, or the delivery of its message if it is not gated."""
    entry, message = _entry.get(), _message.get()
    if entry is not None:
        return entry.grant.execution_id
    return "" if message is None else f"{message.message_id}/{message.options.get(DELIVERY_ID) or ''}"


def current_grant() -> Grant | None:
    """Return the grant under which the calling actor's body runs; None outside a gated actor."""
    entry = _entry.get()
    return None if entry is None else entry.grant
