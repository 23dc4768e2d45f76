"""Reads the Kubernetes events of a pod, which say how its start goes on.

In the flow: the status of a waiting pod often says no more than "ContainerCreating". Its events say whether its image
is being pulled, a volume is missing, or its network could not be made. They are read only when needed: for why a pod
did not start, for what `bandmaster show` says it waits for, and for whether a deleted pod may still start. Clusters
keep them for an hour, and may deny reading them: then nothing is known.
"""

from collections.abc import Sequence
from typing import Final

from .client import ClusterApi
from .faults import ApiError, Fault
from .objects import Pod, PodNews
from .reasons import container_state

PULLING: Final = "Pulling"
#: The reasons of events about an image pull.
_OF_PULLS: Final = (PULLING, "Pulled", "Failed", "BackOff", "InspectFailed", "ErrImageNeverPull")
#: The beginnings of reasons that say why a pod does not start.
_TROUBLE: Final = ("Fail", "Err", "BackOff", "Unhealthy", "InspectFailed", "NetworkNotReady")


def read_news(api: ClusterApi, uid: str) -> list[PodNews] | None:
    """Read a pod's events, the oldest first. None: this program may not read them, or the cluster does not answer."""
    try:
        return api.pod_news(uid)
    except ApiError as error:
        if error.fault is Fault.DENIED or error.fault is Fault.REJECTED or error.passing:
            return None
        raise


def is_pulling(news: Sequence[PodNews]) -> bool:
    """Whether the pod's image is being pulled."""
    pulls = [each for each in news if each.reason in _OF_PULLS]
    return bool(pulls) and pulls[-1].reason == PULLING


def unsaid(pod: Pod, news: Sequence[PodNews]) -> str:
    """What delays a pod's start but is not in its status: a pull, or the last failure. Empty: nothing."""
    if not pod.spec.node_name:
        return ""  # the scheduler writes it into the status
    if is_pulling(news):
        return next(each.message for each in reversed(news) if each.reason == PULLING)
    wrong = [each for each in news if each.reason.startswith(_TROUBLE)]
    # A back-off only announces another try; the event before it says why.
    telling = [each for each in wrong if each.reason != "BackOff" and not each.message.startswith("Error: ")] or wrong
    waiting = container_state(pod).waiting
    if not telling or (waiting is not None and waiting.message and waiting.message in telling[-1].message):
        return ""
    return f"{telling[-1].reason}: {telling[-1].message}"
