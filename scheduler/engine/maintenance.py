"""The repairs that run again and again: reap, promote, sweep, wake.

In the flow: the actor `try_schedule` calls these, and so do the repair rounds of each worker. Events drive the queue;
the repairs only make good the effects of a crash or a lost wake-up. Any process may repeat them, even at the same time,
without harm. A leader's calls carry its epoch and are refused once another leader was elected (D28).
"""

from typing import Any, Final

from ...configs.logger import Logger
from ..model.errors import NotLeader
from ..transport.scripts import Scripts

log = Logger(__name__)
PAGE: Final = 200
"""How many executions one script call looks at, so that no call blocks the server for long."""


class Maintenance:
    """The repairs on one server, unfenced or under a leader's epoch."""

    def __init__(self, scripts: Scripts, *, leader_id: str = "", epoch: int | None = None) -> None:
        self._scripts = scripts
        self._leader_id = leader_id
        self._epoch = epoch
        self._reap = scripts.script("reap", "epoch count")
        self._promote = scripts.script("promote", "epoch count")
        self._sweep = scripts.script("sweep", "epoch count")
        self._wake = scripts.script("wake", "epoch")

    def under(self, leader_id: str, epoch: int) -> "Maintenance":
        """Return the same repairs, fenced by a leader's epoch."""
        return Maintenance(self._scripts, leader_id=leader_id, epoch=epoch)

    def reap(self) -> int:
        """Take back all grants whose lease ran out; return how many."""
        total = 0
        while True:
            count = int(self._call(self._reap, PAGE))
            total += count
            if count < PAGE:
                return total

    def promote(self) -> int:
        """Move all executions that are due to PENDING; return how many."""
        return self._promoted()[0]

    def promote_until_next(self) -> int | None:
        """The same; return in how many milliseconds the next one is due, None if none is scheduled."""
        return self._promoted()[1]

    def sweep(self) -> int:
        """Expire executions that waited longer than their lane's stale timeout or their own maximum age; return how
        many.
        """
        expired, more = 0, True
        while more:
            count, more = self._call(self._sweep, PAGE)
            expired += int(count)
        return expired

    def wake(self) -> int:
        """Push wake tokens to every lane that has a candidate; return how many lanes have one."""
        return int(self._call(self._wake))

    def _promoted(self) -> tuple[int, int | None]:
        total = 0
        while True:
            count, wait_ms, *failures = self._call(self._promote, PAGE)
            failed: list[bytes] = failures[0] if failures else []
            for name, error in zip(failed[::2], failed[1::2], strict=True):
                log.error("data_damaged", name=name.decode(), error=error.decode())
            total += int(count) - len(failed) // 2
            if count < PAGE:
                return total, None if wait_ms < 0 else int(wait_ms)

    def _call(self, source: Any, *arguments: Any) -> Any:
        answer = self._scripts.call(source, "" if self._epoch is None else self._epoch, *arguments)
        if answer == b"STALE_EPOCH":
            raise NotLeader(leader_id=self._leader_id, epoch=self._epoch or 0)
        return answer
