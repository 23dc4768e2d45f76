"""``python -m benchmarks.cluster.kubelets``: plays a kubelet that changes pods' statuses at a steady rate.

In the flow: `pod_events` starts some, gives each its pods as a line of JSON on standard input, then, when all have said
that they are ready, a second line. The answer on standard output is when each pod's end was told: name → seconds of
the machine's monotonic clock. They are processes of their own, so that the watcher has its interpreter for itself.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from .place import TIMEOUT, Json, Place

CONTAINER: Final = {"name": "program", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
STATES: Final[tuple[tuple[str, Json], ...]] = (
    ("Pending", {"waiting": {"reason": "ContainerCreating"}}),
    ("Running", {"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
    ("Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}}),
)
"""What becomes of each pod, one after the other."""
THREADS: Final = 8
"""So that the API server's time for one change does not limit how many there are."""


def play(place: Place, names: list[str], changes_a_second: float, began: float) -> dict[str, float]:
    """Tell of each pod that it waits, that it runs, that it has ended; never faster than that."""
    ended: dict[str, float] = {}
    for number, name in enumerate(names):
        for step, (phase, state) in enumerate(STATES):
            due = began + (number * len(STATES) + step) / changes_a_second
            time.sleep(max(0.0, due - time.monotonic()))
            status = {"phase": phase, "containerStatuses": [CONTAINER | {"state": state}]}
            answer = place.core.patch_namespaced_pod_status(
                name, place.namespace, {"status": status}, _preload_content=False, _request_timeout=TIMEOUT
            )
            answer.read()  # or the connection would not be used again
        ended[name] = time.monotonic()
    return ended


if __name__ == "__main__":
    told: Json = json.loads(sys.stdin.readline())
    own = Place(told["kubeconfig"], told["namespace"])
    own.pods()  # connects
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.monotonic()
    parts: list[list[str]] = [told["names"][number::THREADS] for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as threads:
        plays = [threads.submit(play, own, part, told["rate"] / THREADS, start) for part in parts]
        json.dump({name: at for each in plays for name, at in each.result().items()}, sys.stdout)
