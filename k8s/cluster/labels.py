"""Every name that is written on a pod or a ConfigMap: labels, annotations, the finalizer, selectors. Pure.

In the flow: `manifest.py` writes them, the watch selects by them, `outcome.py` reads them back. Label values have 63
characters of a small alphabet, so what does not fit is shortened and hashed; the exact id is in an annotation. A user
appears as a hash only, since whoever may list pods need not know who runs what.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

_DOMAIN: Final = "bandmaster.dev"

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
BANDMASTER: Final = "bandmaster"
#: Whose pod it is, where several installations share a namespace. Pods of earlier releases have none: they are of
#: whoever's Redis knows them.
INSTALLATION: Final = f"{_DOMAIN}/installation"
EXECUTION: Final = f"{_DOMAIN}/execution"
ATTEMPT: Final = f"{_DOMAIN}/attempt"
ACTION: Final = f"{_DOMAIN}/action"
USER: Final = f"{_DOMAIN}/user"
#: A label, so that the watch can leave out what is settled: on a busy cluster most pods are.
ACKNOWLEDGED: Final = f"{_DOMAIN}/acknowledged"

#: Annotation: the execution's id as it is.
EXECUTION_ID: Final = f"{_DOMAIN}/execution-id"
#: Annotation: how long the program may run, from its own start, seconds.
TIMEOUT_SECONDS: Final = f"{_DOMAIN}/timeout-seconds"
#: Annotation: when the result was stored, unix seconds.
ACKNOWLEDGED_AT: Final = f"{_DOMAIN}/acknowledged-at"
#: Annotation, written before a pod is deleted that never started or whose node is lost: the reason, and the details.
ENDED_BECAUSE: Final = f"{_DOMAIN}/ended-because"
ENDED_MESSAGE: Final = f"{_DOMAIN}/ended-message"
#: Annotation, written before a pod is deleted whose program has ended while something else in it runs on.
OUTLIVED: Final = f"{_DOMAIN}/outlived"
#: Annotation: whoever deleted the pod does not need its outcome.
DISCARDED: Final = f"{_DOMAIN}/discarded"

#: Holds an ended pod until its result is stored.
FINALIZER: Final = f"{_DOMAIN}/result"

#: Pods of all installations.
ALL: Final = f"{MANAGED_BY}={BANDMASTER}"

#: The pod's one container, and the volume that holds its script.
CONTAINER: Final = "program"
SCRIPT_VOLUME: Final = "script"
#: The key of the script in its ConfigMap, whose keys have a smaller alphabet than file names.
SCRIPT_KEY: Final = "script"

_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_KEPT_CHARS: Final = 40
_HASH_CHARS: Final = 16


def of(installation: str) -> str:
    """The selector of all that is an installation's."""
    return f"{ALL},{INSTALLATION}={installation}"


def unsettled(installation: str) -> str:
    """The selector of its pods whose result is not stored."""
    return f"{of(installation)},!{ACKNOWLEDGED}"


def settled(installation: str) -> str:
    """The selector of its other pods."""
    return f"{of(installation)},{ACKNOWLEDGED}"


def is_of(given: Mapping[str, str], installation: str) -> bool:
    """Whether a pod with these labels is an installation's, or an earlier release's."""
    return given.get(INSTALLATION, installation) == installation


def label_value(text: str) -> str:
    """A text as a label's value: as it is if that is allowed, else its beginning and a hash of the whole."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:_KEPT_CHARS].strip("._-")
    return f"{kept}-{digest(text)}" if kept else digest(text)


def digest(text: str) -> str:
    """A short hash, for what may not or cannot be shown."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH_CHARS]
