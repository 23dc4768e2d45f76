"""Measures the time from a pod's end, as the API server reports it, to the creation of the pod that takes its slot.

There is one worker of 8 threads with the default settings, and 5 slots for which executions always wait. A separate
watch observes both events. The figure includes the watch, reading the log's tail, the report, the release, the next
admission, and the creation. Needs a whole cluster: a control plane alone runs no pods.
"""

from ..order import percentile
from ..question import BANDMASTER, Figure, Measured, Question, Target
from ..rig import Rig
from .place import place
from .sightings import Sightings
from .workers import queue_of, submit, workers

SLOTS = 5


def measure(rig: Rig, side: str) -> Measured:
    """Run short programs through all slots."""
    count = SLOTS + rig.sized(3, 10, 40)
    queue = queue_of(rig, SLOTS)
    with place() as own, Sightings(own) as sightings, workers(rig, own):
        for number in range(count):
            submit(queue, f"echo {number}")
        rig.wait_until(lambda: queue.views.status().active_count == 0 and not queue.views.pending(), "all executions")
    gaps = sightings.from_end_to_creation_ms(SLOTS)
    return {"p50": percentile(gaps, 50), "p90": percentile(gaps, 90)}


QUESTION = Question(
    name="pod_turnaround",
    asks="How long from a pod's end, as the API server tells it, to the creation of the next?",
    sides=(BANDMASTER,),
    figures=(Figure("p50", "ms"), Figure("p90", "ms")),
    measure=measure,
    targets=(Target(BANDMASTER, "p50", at_most=150),),
    needs_cluster=True,
)
