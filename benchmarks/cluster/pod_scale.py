"""Measures the delay of reported ends, and the cost, with 5,000 pods on the cluster of which 50 end per second.

No node accepts these pods: the benchmark simulates the kubelet. The watcher is the loop of `watch_completions`; each
end is acknowledged as the lifecycle actors do, and the cleanup removes the pod at once. Measured are the delay of the
ends, the growth of the process while it sees all pods for the first time, and the calls to the API server for one
execution, counted by urllib3's log: POST the pod and its script; GET and PATCH the pod (the finalizer) and DELETE its
script at the acknowledgement; DELETE the pod when its time is over. Simulated pods have no log to GET. Lists and
watches do not count, since they are not for one execution.
"""

import logging
import re
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from bandmaster.actors.reconcile import Watch
from bandmaster.k8s.backend import connect
from bandmaster.k8s.pods import PodScript
from bandmaster.scheduler.events import ExecutionEndedEvent
from bandmaster.scheduler.model.errors import BandmasterError

from ..order import percentile
from ..question import BANDMASTER, Figure, Measured, Question, Target
from ..rig import Rig
from .kubelets import STATES
from .place import place
from .played import play, waiting_pods
from .workers import queue_of

ENDS_A_SECOND = 50
WINDOW_SECONDS = 5.0
ACKNOWLEDGERS = 4
METHODS = ("POST", "GET", "PATCH", "DELETE")
_ONE_OBJECT = re.compile(r"/(pods|configmaps)/[^?/]+")


class Calls(logging.Handler):
    """Counts this process's calls about single objects during the block."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.made = Counter[str]()
        self._logger = logging.getLogger("urllib3.connectionpool")

    def emit(self, record: logging.LogRecord) -> None:
        """Count one call."""
        if isinstance(record.args, tuple) and len(record.args) == 8:
            method, path = str(record.args[3]), str(record.args[4])
            if method == "POST" or _ONE_OBJECT.search(path):
                self.made[method] += 1

    def __enter__(self) -> "Calls":
        self._logger.addHandler(self)
        self._logger.setLevel(logging.DEBUG)
        return self

    def __exit__(self, *failure: object) -> None:
        self._logger.removeHandler(self)
        self._logger.setLevel(logging.NOTSET)


def measure(rig: Rig, side: str) -> Measured:
    """Watch many pods, of which some end."""
    count, ending = rig.sized(20, 200, 5_000), rig.sized(10, 100, 1_000)
    with place() as own, Calls() as calls:
        pods = waiting_pods(rig, own, count, PodScript("true", runtime="sh"))
        created, calls.made = calls.made, Counter[str]()
        names = {execution: pod for pod, execution in pods.items()}
        backend = connect("kubernetes", root=rig.folder, cluster=own.settings.model_copy(update={"pod_ttl_seconds": 0}))
        reported, over = dict[str, float](), threading.Event()
        with ThreadPoolExecutor(ACKNOWLEDGERS) as acknowledgers:

            def report(event: ExecutionEndedEvent) -> None:
                if event.execution_id not in reported:
                    reported[event.execution_id] = time.monotonic()
                    acknowledgers.submit(settle, event)

            def settle(event: ExecutionEndedEvent) -> None:
                queue.release(event.execution_id, event.attempt)
                backend.acknowledge(names[event.execution_id], str(event.pod_uid))

            queue = queue_of(rig, count)
            watch = Watch(queue, backend, report, tend_seconds=WINDOW_SECONDS, again_seconds=60)
            before = _resident_bytes()

            def watching() -> None:
                while not over.is_set():
                    with suppress(BandmasterError):  # after an error begin the next window, as the actor does
                        watch.run(WINDOW_SECONDS)

            watcher = threading.Thread(target=watching)
            watcher.start()
            rig.wait_until(lambda: watch.pods_seen >= count, "the first sight of all pods")
            grown = _resident_bytes() - before
            ended = play(own, list(pods)[:ending], len(STATES) * ENDS_A_SECOND)
            rig.wait_until(lambda: len(reported) == ending, "all reports")
            rig.wait_until(lambda: len(own.pods()) == count - ending, "the removal of what has ended")
            over.set()
            watcher.join()
    lags = [1000 * (reported[pods[name]] - at) for name, at in ended.items()]
    span = max(ended.values()) - min(ended.values())
    return {
        "ends": ending / span,
        "p50": percentile(lags, 50),
        "p99": percentile(lags, 99),
        "watcher": grown / 1e6,
        **{method: created[method] / count + calls.made[method] / ending for method in METHODS},
    }


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


QUESTION = Question(
    name="pod_scale",
    asks=f"With 5,000 pods and {ENDS_A_SECOND} ends a second, how late is an end told, in how many calls?",
    sides=(BANDMASTER,),
    figures=(
        Figure("ends", "/s"),
        Figure("p50", "ms"),
        Figure("p99", "ms"),
        Figure("watcher", "MB"),
        *(Figure(method, "calls") for method in METHODS),
    ),
    measure=measure,
    targets=(Target(BANDMASTER, "p99", at_most=1000),),
    needs_cluster=True,
)
