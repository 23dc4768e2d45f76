"""The names of all labels, annotations, finalizers and selectors of pods, ConfigMaps and Secrets. Pure.

In the flow: `manifest.py` writes them, the watch selects by them, `outcome.py` reads them back. Label values have at
most 63 characters of a small alphabet, so other texts are shortened and hashed; the exact id is in an annotation. A
user appears only as a hash, since people who may list pods need not know who runs what.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

_DOMAIN: Final = "bandmaster.dev"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
BANDMASTER: Final = "bandmaster"
#: The installation that owns a pod, where several share a namespace. Pods of earlier releases have no such label: they
#: belong to the installation whose Redis knows them.
INSTALLATION: Final = f"{_DOMAIN}/installation"
EXECUTION: Final = f"{_DOMAIN}/execution"
ATTEMPT: Final = f"{_DOMAIN}/attempt"
ACTION: Final = f"{_DOMAIN}/action"
USER: Final = f"{_DOMAIN}/user"
#: A label, so that the watch can exclude settled pods, which are most on a busy cluster.
ACKNOWLEDGED: Final = f"{_DOMAIN}/acknowledged"

#: Annotation: the execution's exact id.
EXECUTION_ID: Final = f"{_DOMAIN}/execution-id"
#: Annotation: how long the program may run, from its own start, seconds.
TIMEOUT_SECONDS: Final = f"{_DOMAIN}/timeout-seconds"
#: Annotation: when the result was stored, unix seconds.
ACKNOWLEDGED_AT: Final = f"{_DOMAIN}/acknowledged-at"
#: Annotations, written before the deletion of a pod that never started or whose node is lost: reason and details.
ENDED_BECAUSE: Final = f"{_DOMAIN}/ended-because"
ENDED_MESSAGE: Final = f"{_DOMAIN}/ended-message"
#: Annotation, written before the deletion of a pod whose program has ended while its other containers run on.
OUTLIVED: Final = f"{_DOMAIN}/outlived"
#: Annotation: the outcome of this pod, which was deleted, is not needed.
DISCARDED: Final = f"{_DOMAIN}/discarded"
#: Annotations: the span of the attempt that created the pod, as its program sees it.
TRACEPARENT: Final = f"{_DOMAIN}/traceparent"
TRACESTATE: Final = f"{_DOMAIN}/tracestate"

#: The finalizer: keeps an ended pod until its result is stored.
FINALIZER: Final = f"{_DOMAIN}/result"

#: The selector of the pods of all installations.
ALL: Final = f"{MANAGED_BY}={BANDMASTER}"

#: The pod's one container, and the volume that holds its script.
CONTAINER: Final = "program"
SCRIPT_VOLUME: Final = "script"
#: The script's key in its ConfigMap: not the file name, since keys have a smaller alphabet.
SCRIPT_KEY: Final = "script"
#: The volume that holds the items that the program works on, and their key in its Secret.
ITEMS_VOLUME: Final = "items"
ITEMS_KEY: Final = "items"

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_KEPT_CHARS: Final = 40
_HASH_CHARS: Final = 16


def of(installation: str) -> str:
    """The selector of all objects of an installation."""
    return f"{ALL},{INSTALLATION}={installation}"


def unsettled(installation: str) -> str:
    """The selector of an installation's pods whose result is not stored."""
    return f"{of(installation)},!{ACKNOWLEDGED}"


def settled(installation: str) -> str:
    """The selector of an installation's pods whose result is stored."""
    return f"{of(installation)},{ACKNOWLEDGED}"


def is_of(given: Mapping[str, str], installation: str) -> bool:
    """Whether a pod with these labels belongs to an installation, or to an earlier release."""
    return given.get(INSTALLATION, installation) == installation


def label_value(text: str) -> str:
    """A text as a label's value: unchanged if that is allowed, else its beginning and a hash of the whole."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:_KEPT_CHARS].strip("._-")
    return f"{kept}-{digest(text)}" if kept else digest(text)


def digest(text: str) -> str:
    """A short hash, for texts that must not or cannot be shown."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
