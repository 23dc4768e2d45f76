"""The outbox of a lane: ends of executions that ended without running their body, until a worker reports them.

In the flow: scripts add executions that expire, are cancelled while they wait or are given up. An admission says that
an outbox has entries, and `middleware/worker/telling.py` collects and reports them. If the process dies in between, an
end can be collected again after `taken_ms`, so each is reported at least once. An outbox is kept as long as dead
letters are. While workers empty it, it has no bound. If nobody came for an hour, it is cut to the maximum number of
dead letters, oldest first, and the next worker is told how many went. An entry may outlive its execution's record, so
that the id is free again: it is then ignored, and never taken for the end of a later execution with that id.
"""

from dataclasses import dataclass

from ..model.states import State
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts


@dataclass(frozen=True, slots=True)
class UntoldEnd:
    """The end of an execution that was not yet reported to its sender."""

    execution_id: str
    ended_at_ms: int
    """Time of the server's clock; id and time together identify the end."""
    state: State
    reason: str
    """One word."""
    message: bytes
    """The Dramatiq message as it was sent."""


class Outbox(Reader):
    """The outboxes on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts)
        self._collect = scripts.script("collect", "lane count taken_ms")
        self._tell = scripts.script("tell", "id ended_at dead")

    def collect(self, lane: str, count: int, *, taken_ms: int) -> list[UntoldEnd]:
        """Take up to `count` ends of a lane, which no other caller gets for `taken_ms`.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        return [
            UntoldEnd(execution_id.decode(), int(ended_at), State(state.decode()), reason.decode(), message)
            for execution_id, ended_at, state, reason, message in self._scripts.call(
                self._collect, lane, count, taken_ms
            )
        ]

    def tell(self, end: UntoldEnd, *, dead: bool = False) -> bool:
        """Record that an end was reported, and take it out of the outbox.

        Args:
            end: The end as it was collected.
            dead: Whether to keep the execution as a dead letter.

        Returns:
            False if another caller had reported it already.

        Raises:
            QueueUnavailable: If Redis did not answer; calling again, or reporting it again, does no harm.
        """
        return self._scripts.call(self._tell, end.execution_id, end.ended_at_ms, int(dead)) == 1

    @repeated
    def take_dropped(self, lane: str) -> int:
        """How many ends of a lane were dropped because nobody collected them, since the last call of this method.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        rounds, field = self._scripts.keys.named("rounds"), f"dropped:{lane}"
        count, _ = self._client.pipeline().hget(rounds, field).hdel(rounds, field).execute()
        return int(count or 0)

    def empty(self, lane: str) -> None:
        """Remove all entries without reporting them."""
        while ends := self.collect(lane, 100, taken_ms=0):
            for end in ends:
                self.tell(end)
