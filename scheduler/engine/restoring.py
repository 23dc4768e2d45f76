"""Puts executions back into Redis as the ledger knows them, after Redis lost its data or came back with older data.

In the flow: ``bandmaster ledger rebuild`` reads them from SQL and calls this, while admission is paused. Each is
restored as a whole or not at all, and repeating a call does no harm: if the process dies here, it is run again.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ..model.states import State
from ..transport.scripts import Argument, Scripts

_A_CALL: Final = 100
_BYTES_A_CALL: Final = 1024 * 1024


class Restored(StrEnum):
    """What became of one execution."""

    RESTORED = "RESTORED"
    ENDED = "ENDED"
    """Redis knows that it has ended."""
    NEWER = "NEWER"
    """Redis knows the same attempt of it, or a later one; or a later execution with its id."""
    NO_PAYLOAD = "NO_PAYLOAD"
    """Neither Redis nor the ledger has what it needs to run."""
    ERROR = "ERROR"
    """Its data in Redis is damaged."""


@dataclass(frozen=True, slots=True)
class Known:
    """An execution as the ledger knows it. Times are Unix milliseconds of the server's clock."""

    execution_id: str
    state: State
    lane: str
    band: int
    action: str
    user_id: str | None
    gates: tuple[str, ...]
    attempt: int
    reason: str
    accepted_ms: int
    score: float | None = None
    """Its place if it waits, or will wait again; those that have ended need none."""
    due_ms: int | None = None
    """SCHEDULED: when it is due."""
    ended_ms: int | None = None
    dead: bool = False
    timeout_ms: int = 0
    expires_ms: int | None = None
    lasting: str = ""
    pod: str | None = None
    pod_uid: str | None = None
    event: bytes = b""
    message: bytes = b""
    result: bytes = b""

    @property
    def size_bytes(self) -> int:
        """How much there is to send."""
        return len(self.event) + len(self.message) + len(self.result)

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of restore.lua."""
        fields = {
            "state": self.state,
            "lane": self.lane,
            "band": self.band,
            "action": self.action,
            "timeout_ms": self.timeout_ms or None,
            "accepted_at": self.accepted_ms,
            "score": None if self.score is None else exact(self.score),
            "attempt": self.attempt or None,
            "user": self.user_id,
            "gates": "\n".join(self.gates),
            "lasting": self.lasting,
            "expires_at": self.expires_ms,
            "pod": self.pod,
            "pod_uid": self.pod_uid,
            "reason": self.reason,
            "ended_at": self.ended_ms,
        }
        meta = json.dumps({name: str(value) for name, value in fields.items() if value not in (None, "")})
        due = "" if self.due_ms is None else self.due_ms
        return (self.execution_id, meta, due, "1" if self.dead else "", self.event, self.message, self.result)


def exact(score: float) -> str:
    """Return a score as the scripts write it."""
    return str(int(score)) if score.is_integer() else f"{score:.17g}"


class Restoring:
    """Restores executions on one server."""

    def __init__(self, scripts: Scripts) -> None:
        """Makes no call."""
        self._scripts = scripts
        self._restore = scripts.script("restore", "id meta due dead event message result")
        self._restore_action = scripts.script("restore_action", "action enqueued completed")
        self._rebuilt = scripts.script("rebuilt", "by")

    def restore(self, executions: Iterable[Known]) -> Iterable[tuple[Known, Restored]]:
        """Restore executions, some at a time.

        Yields:
            Each of them with what became of it, in order.

        Raises:
            QueueUnavailable: If Redis does not answer; those that were told of are restored.
        """
        page: list[Known] = []
        size_bytes = 0
        for each in executions:
            page.append(each)
            size_bytes += each.size_bytes
            if len(page) == _A_CALL or size_bytes >= _BYTES_A_CALL:
                yield from self._call(page)
                page, size_bytes = [], 0
        if page:
            yield from self._call(page)

    def restore_totals(self, action: str, enqueued: int, completed: int) -> None:
        """Raise the lifetime totals of an action to what they were at least.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        self._scripts.call(self._restore_action, action, enqueued, completed)

    def end(self, by: str) -> None:
        """Note that all was restored that can be.

        Raises:
            QueueUnavailable: If Redis does not answer; what was restored stays so.
        """
        self._scripts.call(self._rebuilt, by)

    def _call(self, page: list[Known]) -> Iterable[tuple[Known, Restored]]:
        arguments = [argument for each in page for argument in each.arguments]
        outcomes: list[bytes] = self._scripts.call(self._restore, *arguments)
        return [(each, Restored(outcome.decode())) for each, outcome in zip(page, outcomes, strict=True)]
