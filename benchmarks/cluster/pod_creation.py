"""Measures how many pods are created per second, compared with a bare loop of the same client calls.

Both use 8 threads. Each pod has a script and so needs two calls, for the pod and its ConfigMap. The bare loop sends the
same objects with the official client in its default configuration. Bandmaster is measured twice: its pod interface
alone, and a whole worker, from admission through the grant's checks to the hand-over of the slot; the worker has a
ninth thread for `watch_completions`. No node is big enough for these pods, so none of them runs.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bandmaster.k8s.backend import connect
from bandmaster.k8s.cluster.manifest import pod_manifest
from bandmaster.k8s.pods import PodScript, PodSpec
from bandmaster.scheduler.queue import ExecutionQueueService

from ..question import Figure, Measured, Question, Target
from ..rig import Rig
from .place import Place, place
from .workers import queue_of, submit, workers

BARE_CLIENT = "bare client"
INTERFACE = "pod interface"
WORKER = "whole worker"
THREADS = 8
SCRIPT = "print('hello')\n" * 20
CPU = "1000"


def measure(rig: Rig, side: str) -> Measured:
    """Create so many pods."""
    count = rig.sized(16, 60, 240)
    with place() as own:
        if side == WORKER:
            return {"pods": _by_worker(rig, own, count)}
        create = (
            connect("kubernetes", root=rig.folder, cluster=own.settings).create if side == INTERFACE else _bare(own)
        )
        return {"pods": _by_threads(create, count)}


def _by_threads(create: Callable[[PodSpec], Any], count: int) -> float:
    specs = [
        PodSpec(
            execution_id=f"created-{number}",
            attempt=1,
            action="pod",
            timeout_seconds=60,
            script=PodScript(SCRIPT, runtime="python"),
            cpu_request=CPU,
            cpu_limit=CPU,
        )
        for number in range(count + THREADS)
    ]
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(create, specs[:THREADS]))  # connects
        began = time.monotonic()
        list(threads.map(create, specs[THREADS:]))
        return count / (time.monotonic() - began)


def _bare(own: Place) -> Callable[[PodSpec], Any]:
    def create(spec: PodSpec) -> None:
        manifest = pod_manifest(spec, own.settings)
        pod: Any = own.core.create_namespaced_pod(own.namespace, manifest)
        (name,) = [each["configMap"]["name"] for each in manifest["spec"]["volumes"] if "configMap" in each]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}
        script = {"metadata": {"name": name, "ownerReferences": [owner]}, "immutable": True, "data": {"script": SCRIPT}}
        own.core.create_namespaced_config_map(own.namespace, script)

    return create


def _by_worker(rig: Rig, own: Place, count: int) -> float:
    queue = queue_of(rig, 10**6)
    with workers(rig, own, threads=THREADS + 1):
        for _ in range(count + THREADS):
            submit(queue, script=SCRIPT, runtime="python", cpu_request=CPU, cpu_limit=CPU)
        rig.wait_until(lambda: len(queue.views.pod_leases(10**6)) == count + THREADS, "all creations")
    at_ms = _handed_over_ms(queue)
    return 1000 * count / (at_ms[-1] - at_ms[THREADS - 1])


def _handed_over_ms(queue: ExecutionQueueService) -> list[int]:
    """When each slot was handed over to a created pod, by Redis's clock."""
    return sorted(entry.at_ms for entry in queue.journal.entries() if entry.verb == "hand_over")


QUESTION = Question(
    name="pod_creation",
    asks="How many pods with scripts are created a second, in 8 threads?",
    sides=(BARE_CLIENT, INTERFACE, WORKER),
    figures=(Figure("pods", "/s"),),
    measure=measure,
    targets=(
        Target(INTERFACE, "pods", at_least=0.8, of_side=BARE_CLIENT),
        Target(WORKER, "pods", at_least=0.8, of_side=BARE_CLIENT),
    ),
    needs_cluster=True,
)
