"""The actors: an execution's lifecycle, its pods, the watch over them, and the periodic repair.

``dramatiq bandmaster.actors`` runs them; ``execution_requested.send({...})`` is how an execution arrives.
"""

from .ended import execution_cancelled, execution_completed, execution_failed, execution_timeout
from .maintenance import try_schedule
from .pod_actors import create_pod, delete_pod
from .requested import execution_requested
from .runtime import broker
from .watch import watch_completions

__all__ = [
    "broker",
    "create_pod",
    "delete_pod",
    "execution_cancelled",
    "execution_completed",
    "execution_failed",
    "execution_requested",
    "execution_timeout",
    "try_schedule",
    "watch_completions",
]
