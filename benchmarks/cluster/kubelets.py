"""Simulates a kubelet that changes pods' statuses at a steady rate: ``python -m benchmarks.cluster.kubelets``.

In the flow: `played.py` starts some of these processes and writes each one's pods as a line of JSON to its standard
input. When all have reported that they are ready, it closes standard input, and they begin. The answer on standard
output is when each pod's end was reported: name → seconds of the machine's monotonic clock. They are separate
processes, so that they do not share the watcher's interpreter.
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
"""The successive states of each pod."""
THREADS: Final = 8
"""Several, so that the API server's time for one change does not limit the rate."""


def play(place: Place, names: list[str], changes_a_second: float, began: float) -> dict[str, float]:
    """Set each pod's status to waiting, running and ended in turn, at most at the given rate."""
    ended: dict[str, float] = {}
    for number, name in enumerate(names):
        for step, (phase, state) in enumerate(STATES):
            due = began + (number * len(STATES) + step) / changes_a_second
            time.sleep(max(0.0, due - time.monotonic()))
            status = {"phase": phase, "containerStatuses": [CONTAINER | {"state": state}]}
            answer = place.core.patch_namespaced_pod_status(
                name, place.namespace, {"status": status}, _preload_content=False, _request_timeout=TIMEOUT
            )
            answer.read()  # else the connection could not be reused
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
