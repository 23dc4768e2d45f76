"""The outbox of a lane: ends without a body, until a worker has told whoever sent them.

In the flow: scripts post what expires, is cancelled while it waits or is given up; an admission says that there is
something, and `middleware/worker/telling.py` collects it. If the process dies between collecting and telling, the end
comes again when the while for which it was collected is over, so each is told at least once. An outbox is kept as long
as dead letters are. One that workers empty has no bound; of one that nobody came for in an hour the oldest go, beyond
as many as there may be dead letters, and the next worker is told how many. An entry may outlive its record, whose id is
free again then: it is nobody's end any more, least of all that of a later execution of the id.
"""

from dataclasses import dataclass

from ..model.states import State
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts


@dataclass(frozen=True, slots=True)
class UntoldEnd:
    """The end of an execution that whoever sent it does not know of yet."""

    execution_id: str
    ended_at_ms: int
    """Of the server's clock; with the id it names the end."""
    state: State
    reason: str
    """In one word."""
    message: bytes
    """As it was sent."""


class Outbox(Reader):
    """The outboxes on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts)
        self._collect = scripts.script("collect", "lane count taken_ms")
        self._tell = scripts.script("tell", "id ended_at dead")

    def collect(self, lane: str, count: int, *, taken_ms: int) -> list[UntoldEnd]:
        """Take up to `count` ends of a lane, which nobody else is given for `taken_ms`.

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
        """It was told.

        Args:
            end: As it was collected.
            dead: Keep it as a dead letter.

        Returns:
            False if another had told it already.

        Raises:
            QueueUnavailable: If Redis did not answer; it does no harm to call again, or to tell it again.
        """
        return self._scripts.call(self._tell, end.execution_id, end.ended_at_ms, int(dead)) == 1

    @repeated
    def take_dropped(self, lane: str) -> int:
        """How many ends of a lane went untold because nobody came for them, since this was last asked.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        rounds, field = self._scripts.keys.named("rounds"), f"dropped:{lane}"
        count, _ = self._client.pipeline().hget(rounds, field).hdel(rounds, field).execute()
        return int(count or 0)

    def empty(self, lane: str) -> None:
        """Take everything out; nobody is told."""
        while ends := self.collect(lane, 100, taken_ms=0):
            for end in ends:
                self.tell(end)
