"""Creates pods that no node accepts and starts simulated kubelets for them, for questions about many pods.

In the flow: `pod_events` and `pod_scale` create pods with this, each for an execution in Redis, and let separate
processes (`kubelets.py`) change their statuses. Meant for a control plane without nodes.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from bandmaster.k8s.backend import connect
from bandmaster.k8s.pods import PodScript, PodSpec

from ..rig import ROOT, Rig
from .place import Place, named_cluster
from .workers import queue_of, submit

KUBELETS = 2
CREATORS = 8
#: More cores than any node has.
CPU = "1000"


def waiting_pods(rig: Rig, own: Place, count: int, script: PodScript | None = None) -> dict[str, str]:
    """Admit executions and hand their slots over to pods that wait for a node; returns pod → execution.

    Args:
        rig: The rig, with its Redis server.
        own: The namespace.
        count: The number of pods.
        script: Their script; None: they run a command.
    """
    queue = queue_of(rig, count)
    backend = connect("kubernetes", root=rig.folder, cluster=own.settings)

    def create(execution_id: str) -> str:
        spec = PodSpec(
            execution_id=execution_id,
            attempt=1,
            action="pod",
            timeout_seconds=600,
            script=script,
            command=None if script else ("true",),
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


def play(own: Place, names: list[str], events_a_second: int) -> dict[str, float]:
    """Let the kubelets change all statuses at a steady rate; returns when each pod's end was reported."""
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
        told = {"kubeconfig": named_cluster(), "namespace": own.namespace, "rate": events_a_second / KUBELETS}
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
