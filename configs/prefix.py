"""The default prefix of the queue's keys, which follows the namespace of Dramatiq's own keys.

Two installations on one server that differ only in their namespace must not share lanes, or a message sent in one would
run on a worker of the other. The prefix never makes a key of the queue equal one of Dramatiq's, since the name of a
Dramatiq queue has no colon.
"""

from typing import Final

PREFIX: Final = "exec_queue"
NAMESPACE: Final = "dramatiq"
"""Dramatiq's own default."""


def prefix_of(namespace: str) -> str:
    """Return ``exec_queue`` for Dramatiq's default namespace, and ``staging:exec_queue`` for ``staging``."""
    return PREFIX if namespace == NAMESPACE else f"{namespace}:{PREFIX}"
