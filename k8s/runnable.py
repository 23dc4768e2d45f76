"""``check_runnable``: whether a pod could run what an event asks for, before it is accepted.

In the flow: the command line and the API call it at their borders. The event itself cannot check everything (whether a
runtime is known, whether a quantity can limit a process), so the specification of its pod is built.
"""

from ..scheduler.events import ExecutionRequestedEvent
from .spec import PodScript, PodSpec


def check_runnable(event: ExecutionRequestedEvent) -> None:
    """Refuse an event that no pod could ever run, whatever the worker's settings are.

    Raises:
        PodRejected: If there is such a value; names it.
    """
    PodSpec(
        execution_id=event.execution_id,
        attempt=1,
        action=event.action,
        timeout_seconds=event.timeout_seconds,
        script=None if event.script is None else PodScript(event.script, event.file_name, event.runtime),
        command=event.command,
        cpu_limit=event.cpu_limit,
        memory_limit=event.memory_limit,
    )
