"""What the tests of the actors do again and again: grant, run a pod, look at what was sent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from dramatiq import Message

from bandmaster.actors.pod_spec import pod_spec
from bandmaster.actors.program_items import ProgramItems
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.pods import PodSpec, PodStatus
from bandmaster.scheduler.events import ExecutionEndedEvent, ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

DEFAULTS = KubernetesSettings()
NO_ITEMS = ProgramItems(lambda: (), lambda: None)
FOR_EVER = "sleep 600"


def requested(line: str = FOR_EVER, execution_id: str = "x", **fields: Any) -> ExecutionRequestedEvent:
    """A request to run a shell line."""
    return ExecutionRequestedEvent(execution_id=execution_id, command=("sh", "-c", line), **fields)


@dataclass(slots=True)
class Lifecycle:
    """One queue and its pods."""

    client: redis.Redis
    queue: ExecutionQueueService
    pods: LocalPods
    folder: Path

    def state(self, execution_id: str = "x") -> State:
        """Where an execution stands."""
        return State(self.queue.views.meta(execution_id)["state"])

    def active(self) -> int:
        """How many slots are taken."""
        return self.queue.views.status().active_count

    def granted(self, event: ExecutionRequestedEvent | None = None) -> ExecutionRequestedEvent:
        """An execution that was accepted and has its first grant."""
        event = event or requested()
        self.queue.enqueue(event)
        self.grant_again()
        return event

    def grant_again(self) -> None:
        """The next grant; nobody renews it."""
        self.queue.maintenance.promote()
        assert self.queue.try_schedule() is not None

    def in_pod(self, event: ExecutionRequestedEvent | None = None) -> PodStatus:
        """An execution that was handed over to its pod."""
        event = self.granted(event)
        pod = self.create(event, 1)
        self.queue.transitions.hand_over(event.execution_id, 1, pod.name, pod.uid)
        return pod

    def create(self, event: ExecutionRequestedEvent, attempt: int) -> PodStatus:
        """The pod of an attempt."""
        return self.pods.create(self.spec(event, attempt))

    def spec(self, event: ExecutionRequestedEvent, attempt: int) -> PodSpec:
        """What the pod of an attempt runs."""
        return pod_spec(event, attempt, DEFAULTS)

    def ended(self, pod: PodStatus) -> PodStatus:
        """A pod, once it has ended."""

        def look() -> PodStatus | None:
            now = self.pods.get(pod.name)
            return now if now is not None and now.phase.ended else None

        found = wait_until(look, what=f"the end of {pod.name}")
        assert found is not None
        return found

    def gone(self, pod: PodStatus) -> None:
        """Wait until nothing of a pod is left."""
        wait_until(lambda: self.pods.get(pod.name) is None, what=f"the disappearance of {pod.name}")

    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        """What waits for the lifecycle actors: actor and event (empty if it takes none), in no order."""
        raw: list[bytes] = self.client.hvals("dramatiq:lifecycle.msgs")  # type: ignore[assignment]
        messages: list[Message[Any]] = [Message.decode(data) for data in raw]
        return [(message.actor_name, message.args[0] if message.args else {}) for message in messages]

    def keys(self) -> set[bytes]:
        """Every key there is."""
        return set(self.client.keys("*"))  # type: ignore[arg-type]


class Reports(list[ExecutionEndedEvent]):
    """What a watch reported."""

    def __call__(self, event: ExecutionEndedEvent) -> None:
        self.append(event)

    def of(self, execution_id: str) -> list[str | None]:
        """The reasons reported for an execution, in order."""
        return [event.reason for event in self if event.execution_id == execution_id]
