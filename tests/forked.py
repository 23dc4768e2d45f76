"""A forked child of the test's own process that does one thing and is gone: nothing of the test runner runs in it."""

import os
import signal
from collections.abc import Callable

from waiting import wait_until


def holds_in_child(act: Callable[[], bool]) -> bool:
    """Whether `act` answers True in a forked child; one that hangs is killed, and the test fails."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if act() else 2
        finally:
            os._exit(status)
    codes: list[int] = []

    def has_ended() -> bool:
        ended, code = os.waitpid(child, os.WNOHANG)
        if ended:
            codes.append(os.waitstatus_to_exitcode(code))
        return bool(ended)

    try:
        wait_until(has_ended, what="the end of the child")
    finally:
        if not codes:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    return codes == [0]
