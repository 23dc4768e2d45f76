"""What the cluster tells about a pod on its way to its start: the events of its kubelet and its scheduler.

In the flow: a pod's status says only that it waits, or nothing but "ContainerCreating"; whether its image is being
pulled, a volume is missing, or no network could be made, stands in its events. They are read when somebody has to know:
why a pod did not start, what `bandmaster show` says it waits for, whether a pod that is gone may start yet. Clusters
keep them for an hour, and may not let us read them: then nothing is known.
"""

from collections.abc import Sequence
from typing import Final

from .client import ClusterApi
from .faults import ApiError, Fault
from .objects import Pod, PodNews
from .reasons import container_state

PULLING: Final = "Pulling"
#: The reasons that say how a pull went on, or ended.
_OF_PULLS: Final = (PULLING, "Pulled", "Failed", "BackOff", "InspectFailed", "ErrImageNeverPull")
#: Those that say why a pod does not start.
_TROUBLE: Final = ("Fail", "Err", "BackOff", "Unhealthy", "InspectFailed", "NetworkNotReady")


def read_news(api: ClusterApi, uid: str) -> list[PodNews] | None:
    """Read a pod's events, the oldest first. None: this program may not, or the cluster does not answer."""
    try:
        return api.pod_news(uid)
    except ApiError as error:
        if error.fault is Fault.DENIED or error.fault is Fault.REJECTED or error.passing:
            return None
        raise


def is_pulling(news: Sequence[PodNews]) -> bool:
    """Whether its image is on its way."""
    pulls = [each for each in news if each.reason in _OF_PULLS]
    return bool(pulls) and pulls[-1].reason == PULLING


def unsaid(pod: Pod, news: Sequence[PodNews]) -> str:
    """What keeps a pod from its start, and its status does not say: a pull, or what went wrong last. Empty: nothing."""
    if not pod.spec.node_name:
        return ""  # its scheduler says it in its status
    if is_pulling(news):
        return next(each.message for each in reversed(news) if each.reason == PULLING)
    wrong = [each for each in news if each.reason.startswith(_TROUBLE)]
    # A back-off says that there will be another try; what comes before it says why.
    telling = [each for each in wrong if each.reason != "BackOff" and not each.message.startswith("Error: ")] or wrong
    waiting = container_state(pod).waiting
    if not telling or (waiting is not None and waiting.message and waiting.message in telling[-1].message):
        return ""
    return f"{telling[-1].reason}: {telling[-1].message}"
