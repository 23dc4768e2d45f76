"""Before which prefix the queue's keys stand, if none is given: it follows the namespace of Dramatiq's own keys.

Two installations on one server that differ in their namespace alone must not share lanes: a message sent in one would
run on a worker of the other. No key of ours is then one of Dramatiq's, since a queue's name has no colon.
"""

from typing import Final

PREFIX: Final = "exec_queue"
NAMESPACE: Final = "dramatiq"
"""Dramatiq's own default."""


def prefix_of(namespace: str) -> str:
    """``exec_queue`` for Dramatiq's own namespace, ``staging:exec_queue`` for ``staging``."""
    return PREFIX if namespace == NAMESPACE else f"{namespace}:{PREFIX}"
