"""Resets locks and pending calls in a forked child.

In the flow: an object that shares a lock between threads registers here a method that makes a new lock. The method runs
in the child before any other code, so no thread there meets the old lock; the parent is not touched.
"""

import atexit
import os
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakMethod

_begin_anew: Final[set["WeakMethod[Callable[[], None]]"]] = set()


def anew_in_child(method: Callable[[], None]) -> None:
    """Register a bound method to be called in each forked child, as long as its object lives."""
    forget: Callable[[Any], None] = _begin_anew.discard
    _begin_anew.add(WeakMethod(method, forget))


def _in_child() -> None:
    for each in list(_begin_anew):
        method = each()
        if method is not None:
            method()


os.register_at_fork(after_in_child=_in_child)
# Left for the interpreter's own end, in which modules are gone before objects, each would write an ignored exception.
atexit.register(_begin_anew.clear)
