"""An installation as its tests see it: the queue, the pods, the members, and what must hold when all has settled."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from history import History
from leftovers import processes_under
from model.dump import Dump, read_dump
from model.invariants import Invariants, left_behind
from probing import probe_threads
from proxy import Proxy

from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.identifiers import new_execution_id
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_process.members import LANE, Members
from waiting import GENEROUS_SECONDS, wait_until

LIFECYCLE = "lifecycle"


@dataclass(slots=True)
class Installation:
    """One server, one folder, and whatever members a test starts."""

    client: redis.Redis
    queue: ExecutionQueueService
    pods: LocalPods
    members: Members
    folder: Path

    def submit(self, line: str, *, execution_id: str | None = None, timeout_seconds: int = 60) -> str:
        """A shell line to be run; each run first notes its attempt."""
        note = f'echo "$EXECUTION_ID $EXECUTION_ATTEMPT" >> {self.folder}/runs; '
        event = ExecutionRequestedEvent(
            execution_id=execution_id or new_execution_id(),
            command=("sh", "-c", note + line),
            timeout_seconds=timeout_seconds,
        )
        self.queue.enqueue(event)
        return event.execution_id

    @property
    def until_told(self) -> str:
        """A shell line that goes on until `tell`."""
        return f"until [ -e {self.folder}/told ]; do sleep 0.1; done"

    def tell(self) -> None:
        """Let the lines end that wait for it."""
        (self.folder / "told").touch()

    def send(self, actor: str, *arguments: object, **options: object) -> None:
        """A message to one of the lifecycle actors, by name, as another program would send it."""
        broker = RedisBroker(client=self.client, middleware=[])
        broker.enqueue(
            Message(queue_name=LIFECYCLE, actor_name=actor, args=arguments, kwargs={}, options=dict(options))
        )

    def through(self, proxy: Proxy) -> str:
        """A proxy's URL, with the test's own database."""
        return f"redis://127.0.0.1:{proxy.port}/{self.client.connection_pool.connection_kwargs.get('db', 0)}"

    def waiting(self) -> int:
        """How many executions wait."""
        return self.queue.views.status().queue_depth

    def runs(self, execution_id: str) -> list[int]:
        """The attempts that began to run, in order."""
        path = self.folder / "runs"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [int(line.split()[1]) for line in lines if line.split()[0] == execution_id]

    def state(self, execution_id: str) -> State:
        """Where an execution stands."""
        return State(self.meta(execution_id)["state"])

    def meta(self, execution_id: str) -> dict[str, str]:
        """An execution's record."""
        return self.queue.views.meta(execution_id)

    def wait_for(self, execution_id: str, *states: State, timeout_seconds: float = GENEROUS_SECONDS) -> None:
        """Wait until an execution is in one of these states."""
        wait_until(
            lambda: self.state(execution_id) in states,
            timeout_seconds=timeout_seconds,
            what=f"{execution_id} {' or '.join(states)}",
        )

    def queued(self, actor: str) -> int:
        """How many messages of a lifecycle actor wait, or are being worked on."""
        messages: list[bytes] = self.client.hvals(f"dramatiq:{LIFECYCLE}.msgs")  # type: ignore[assignment]
        return sum(Message.decode(message).actor_name == actor for message in messages)

    def wait_until_settled(
        self,
        execution_ids: Sequence[str],
        timeout_seconds: float = GENEROUS_SECONDS,
        *,
        attempts_given_once: bool = True,
    ) -> None:
        """Wait for the end of all of them; then everything that must hold has to hold.

        Args:
            execution_ids: All that were ever accepted.
            timeout_seconds: For their ends.
            attempts_given_once: Each attempt ran once at most; not so where Redis has forgotten that it gave one.
        """

        def ended() -> bool:
            return all(meta["state"] in TERMINAL for meta in self.queue.views.metas(list(execution_ids)))

        wait_until(ended, timeout_seconds=timeout_seconds, what="the end of all executions")
        wait_until(lambda: not self.alive(), what="the end of all pods")
        wait_until(self._all_acknowledged, what="the acknowledgement of all pods")
        self._check(set(execution_ids))
        for execution_id in execution_ids if attempts_given_once else ():
            runs = self.runs(execution_id)
            assert len(runs) == len(set(runs)), f"{execution_id}: two pods of one attempt ran: {runs}"

    def probe(self, lane: str = LANE) -> None:
        """All threads of the workers that live still take work.

        Meanwhile nobody watches pods, which would take a thread: the watch finds its lock taken, and is revived after.
        """
        watch = self.queue.scripts.keys.lock("watch_completions")
        self.client.set(watch, "the probe's", ex=60)
        probe_threads(self.queue, lane, self.members.threads)
        self.client.delete(watch)

    def alive(self) -> list[str]:
        """Pods that have not ended."""
        return [pod.name for pod in self.pods.list() if not pod.phase.ended]

    def _all_acknowledged(self) -> bool:
        return all(pod.acknowledged for pod in self.pods.list())

    def _check(self, execution_ids: set[str]) -> None:
        dump = read_dump(self.client, self.queue.scripts.keys)
        # A lock has a TTL, and is nobody's execution.
        dump = Dump({key: entry for key, entry in dump.keys.items() if not key.startswith("lock:")})
        Invariants().check(dump, one_step=False)
        assert not left_behind(dump)
        assert not dump["active"].parts
        limit = int(self.queue.views.status().settings["max_concurrent_executions"] or 0)
        history = History(limit, self.queue.controls.limits()).read(self.queue.journal.entries())
        assert history.executions.keys() == execution_ids
        assert not history.living()
        # A supervisor that has recorded the end takes a moment to leave.
        wait_until(lambda: not processes_under(self.folder), what="the end of all processes")
