"""Measures whether one watcher keeps up with 200 pod events a second.

No node accepts these pods. Separate processes of the benchmark simulate the kubelet, and change the statuses at 200 a
second: each pod's from waiting to running to ended. The watcher is the loop of `watch_completions`, and each pod has an
execution in Redis. The figure is the delay from the change until the pod's end is reported; if the watcher fell behind,
the delay would grow. Meant for a control plane without nodes, which has to manage that many changes itself.
"""

import threading
import time

from bandmaster.actors.reconcile import Watch
from bandmaster.k8s.backend import connect
from bandmaster.scheduler.events import ExecutionEndedEvent

from ..order import percentile
from ..question import BANDMASTER, Figure, Measured, Question, Target
from ..rig import Rig
from .kubelets import STATES
from .place import place
from .played import play, waiting_pods
from .workers import queue_of

EVENTS_A_SECOND = 200
WINDOW_SECONDS = 5.0


def measure(rig: Rig, side: str) -> Measured:
    """Change the statuses of so many pods, and measure when each end is reported."""
    with place() as own:
        pods = waiting_pods(rig, own, rig.sized(20, 100, 600))
        reported, over = dict[str, float](), threading.Event()

        def report(event: ExecutionEndedEvent) -> None:
            reported.setdefault(event.execution_id, time.monotonic())

        backend = connect("kubernetes", root=rig.folder, cluster=own.settings)
        watch = Watch(queue_of(rig, len(pods)), backend, report, tend_seconds=WINDOW_SECONDS, again_seconds=60)

        def watching() -> None:
            while not over.is_set():
                watch.run(WINDOW_SECONDS)

        watcher = threading.Thread(target=watching)
        watcher.start()
        rig.wait_until(lambda: watch.pods_seen == len(pods), "the first sight of all pods")
        ended = play(own, list(pods), EVENTS_A_SECOND)
        rig.wait_until(lambda: len(reported) == len(pods), "all reports")
        over.set()
        watcher.join()
    in_order = sorted(ended, key=lambda name: ended[name])
    lags = [1000 * (reported[pods[name]] - ended[name]) for name in in_order]
    return {
        "events": len(STATES) * len(pods) / (ended[in_order[-1]] - ended[in_order[0]]),
        "p50": percentile(lags, 50),
        "p99": percentile(lags, 99),
        "p50 of the last tenth": percentile(lags[-(len(lags) // 10) :], 50),
    }


QUESTION = Question(
    name="pod_events",
    asks=f"Does one watcher keep up with {EVENTS_A_SECOND} pod events a second?",
    sides=(BANDMASTER,),
    figures=(
        Figure("events", "/s"),
        Figure("p50", "ms"),
        Figure("p99", "ms"),
        Figure("p50 of the last tenth", "ms"),
    ),
    measure=measure,
    targets=(
        Target(BANDMASTER, "events", at_least=EVENTS_A_SECOND * 0.95),
        Target(BANDMASTER, "p50 of the last tenth", at_most=1000),
    ),
    needs_cluster=True,
)
