"""The metadata of what a pod needs beside itself, and owns: its script and its items. Pure.

In the flow: whatever is created so is deleted with the pod, by the cluster's garbage collector if by nobody else.
"""

from typing import Any, Final

from . import labels
from .objects import Pod

_COPIED: Final = (labels.MANAGED_BY, labels.INSTALLATION)


def owned_by(pod: Pod, name: str) -> dict[str, Any]:
    """Build the metadata of an object of this name that a pod owns."""
    return {
        "name": name,
        "labels": {each: pod.metadata.labels[each] for each in _COPIED if each in pod.metadata.labels},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}],
    }
