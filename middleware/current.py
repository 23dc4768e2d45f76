"""What the calling code works on: the entry whose body runs, and whether the body is over and its hooks run.

Context variables, so that the body of an `async` actor, which runs on the event loop's thread, sees its own grant.
Nothing here outlives the process.
"""

from contextvars import ContextVar

from ..scheduler.grants import Grant
from .held import Entry

_entry: ContextVar[Entry | None] = ContextVar("bandmaster_entry", default=None)
_settling: ContextVar[bool] = ContextVar("bandmaster_settling", default=False)


def enter(entry: Entry | None) -> None:
    """This thread now works on a message, under this entry or under none."""
    _entry.set(entry)
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


def is_settling() -> bool:
    """Whether hooks run after a body, in this thread."""
    return _settling.get()


def current_grant() -> Grant | None:
    """The grant under which the calling actor's body runs; None outside a gated actor."""
    entry = _entry.get()
    return None if entry is None else entry.grant
