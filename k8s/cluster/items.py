"""The Secret with the items of a queue that a program works on, and their token, and how its pod finds it. Pure.

In the flow: `manifest.py` mounts it, `create.py` sends it. It is made as a script's ConfigMap is: after the pod, which
owns it and names it by a random part, and the kubelet waits for it. The worker may create Secrets and read none. It is
deleted with its pod, by the cluster's garbage collector; the token in it opens nothing by then.
"""

import secrets
from typing import Any, Final

from ...scheduler.model.item_tokens import ITEMS_VARIABLE
from ..spec import PodSpec
from . import labels
from .objects import Pod
from .owning import owned_by

ITEMS_FOLDER: Final = "/bandmaster-items"
FILE_NAME: Final = "items.json"
#: Of the pod's user, who is in the group of its volumes: their owner is root.
_READ: Final = 0o440
Json = dict[str, Any]


def items_volume(spec: PodSpec) -> Json:
    """Build the volume of a pod's Secret, whose name nobody has yet."""
    file = {"key": labels.ITEMS_KEY, "path": FILE_NAME, "mode": _READ}
    name = f"{spec.name}-{secrets.token_hex(4)}"
    return {"name": labels.ITEMS_VOLUME, "secret": {"secretName": name, "items": [file]}}


def items_mount() -> Json:
    """Build the mount of that volume."""
    return {"name": labels.ITEMS_VOLUME, "mountPath": ITEMS_FOLDER, "readOnly": True}


def items_environment(spec: PodSpec) -> dict[str, str]:
    """Return the variable in which its program finds the path; none without items."""
    return {} if spec.items_file is None else {ITEMS_VARIABLE: f"{ITEMS_FOLDER}/{FILE_NAME}"}


def items_of(pod: Pod) -> str | None:
    """The name of the Secret that a pod needs, if it works on items."""
    sources = {volume.name: volume.secret for volume in pod.spec.volumes}
    source = sources.get(labels.ITEMS_VOLUME)
    return source.secret_name if source is not None else None


def items_secret(name: str, text: str, pod: Pod) -> Json:
    """Build the Secret with a pod's items."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "immutable": True,
        "metadata": owned_by(pod, name),
        "stringData": {labels.ITEMS_KEY: text},
    }
