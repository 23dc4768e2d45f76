"""Keeping a message from publishing anything: no result, no next step of a pipeline, no callback of its own.

In the flow: the gate mutes what it skips and what ended under a lost grant, before the hooks that would publish it.
"""

from typing import NoReturn

from dramatiq import MessageProxy
from dramatiq.middleware import SkipMessage


def mute(message: MessageProxy) -> None:
    """Turn off, for this message, what stores its result and starts what follows it."""
    message.options["store_results"] = False
    for option in ("pipe_target", "group_completion_uuid", "group_completion_callbacks", "on_success", "on_failure"):
        message.options.pop(option, None)


def skip_silently(message: MessageProxy) -> NoReturn:
    """Do not run the body, and publish nothing.

    Raises:
        SkipMessage: Always.
    """
    mute(message)
    raise SkipMessage("the grant is not this process's, or there is none yet")
