"""Does one watcher keep up with 200 pod events a second?

No node takes these pods: the benchmark plays the kubelet, in processes of its own, and changes their statuses at 200 a
second, each pod's from waiting over running to its end. The watcher is the loop of `watch_completions`, with executions
in Redis behind the pods. Measured is how long after the change a pod's end is reported; a watcher that fell behind
would report the last ones ever later. Meant for a control plane without nodes; it has to take that many changes itself.
"""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from bandmaster.actors.watching import Watch
from bandmaster.k8s.backend import connect
from bandmaster.k8s.pods import PodSpec
from bandmaster.scheduler.events import ExecutionEndedEvent

from ..order import percentile
from ..question import BANDMASTER, Figure, Measured, Question, Target
from ..rig import ROOT, Rig
from .kubelets import STATES
from .place import Place, named_cluster, place
from .workers import queue_of, submit

EVENTS_A_SECOND = 200
KUBELETS = 2
CREATORS = 8
WINDOW_SECONDS = 5.0
CPU = "1000"


def measure(rig: Rig, side: str) -> Measured:
    """Change the statuses of so many pods, and see when each end is reported."""
    with place() as own:
        pods = _pods_in_their_slots(rig, own, rig.sized(20, 100, 600))
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
        ended = _play(own, list(pods))
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


def _pods_in_their_slots(rig: Rig, own: Place, count: int) -> dict[str, str]:
    """Executions that were admitted, and handed over to pods that wait for a node: pod → execution."""
    queue = queue_of(rig, count)
    backend = connect("kubernetes", root=rig.folder, cluster=own.settings)

    def create(execution_id: str) -> str:
        spec = PodSpec(
            execution_id=execution_id,
            attempt=1,
            action="pod",
            timeout_seconds=600,
            command=("true",),
            cpu_request=CPU,
            cpu_limit=CPU,
        )
        pod = backend.create(spec)
        queue.transitions.hand_over(execution_id, 1, pod.name, pod.uid)
        return pod.name

    ids = [submit(queue, "true") for _ in range(count)]
    for _ in ids:
        queue.try_schedule()
    with ThreadPoolExecutor(CREATORS) as creators:
        return dict(zip(creators.map(create, ids), ids, strict=True))


def _play(own: Place, names: list[str]) -> dict[str, float]:
    """Have the kubelets change all statuses: when each pod's end was told."""
    kubelets = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.cluster.kubelets"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(KUBELETS)
    ]
    for number, kubelet in enumerate(kubelets):
        told = {"kubeconfig": named_cluster(), "namespace": own.namespace, "rate": EVENTS_A_SECOND / KUBELETS}
        assert kubelet.stdin is not None
        kubelet.stdin.write(json.dumps(told | {"names": names[number::KUBELETS]}) + "\n")
        kubelet.stdin.flush()
    for kubelet in kubelets:
        assert kubelet.stdout is not None
        kubelet.stdout.readline()
    for kubelet in kubelets:
        assert kubelet.stdin is not None
        kubelet.stdin.close()
    ended: dict[str, float] = {}
    for kubelet in kubelets:
        with kubelet:
            assert kubelet.stdout is not None
            ended |= json.loads(kubelet.stdout.read())
    return ended


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
