"""A pure function that builds the pod specification of an event: settings fill the gaps, the image must be allowed.

In the flow: the first step of the saga. A request that is refused here never had a pod.
"""

from ..configs.areas import KubernetesSettings
from ..k8s.images import check_image
from ..k8s.pods import PodScript, PodSpec
from ..k8s.profiles import settings_of
from ..scheduler.events import ExecutionRequestedEvent
from ..scheduler.model.trace_context import TraceContext, read_trace


def pod_spec(
    event: ExecutionRequestedEvent,
    attempt: int,
    defaults: KubernetesSettings,
    span: TraceContext | None = None,
    items_file: str | None = None,
) -> PodSpec:
    """Build the specification of this attempt's pod.

    Args:
        event: The request.
        attempt: The attempt.
        defaults: For what the request leaves out.
        span: The span of this attempt, which the program can join; None: the one that the request names, if any.
        items_file: The text of the file with the items that it works on; None: it was not started for any.

    Raises:
        PodRejected: If the request can never run; the error message names the field.
    """
    defaults = settings_of(defaults, event.metadata.profile, event.action)
    image = event.image or defaults.default_image
    check_image(image, defaults.allowed_images)
    return PodSpec(
        execution_id=event.execution_id,
        attempt=attempt,
        action=event.action,
        user_id=event.metadata.user_id,
        profile=event.metadata.profile,
        script=None if event.script is None else PodScript(event.script, event.file_name, event.runtime),
        command=event.command,
        image=image,
        timeout_seconds=event.timeout_seconds,
        cpu_request=event.cpu_request or (None if event.cpu_limit else defaults.cpu_request),
        cpu_limit=event.cpu_limit or (None if event.cpu_request else defaults.cpu_limit),
        memory_request=event.memory_request or (None if event.memory_limit else defaults.memory_request),
        memory_limit=event.memory_limit or (None if event.memory_request else defaults.memory_limit),
        trace=span or read_trace(event.metadata.traceparent, event.metadata.tracestate),
        items_file=items_file,
    )
