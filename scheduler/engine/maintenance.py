"""The repairs that run again and again: reap, promote, sweep, wake.

In the flow: the actor `try_schedule` and every worker's own rounds call these. Everything is event-driven first; these
only repair what a crash or a lost wake-up left. They do no harm when repeated, by anybody, at the same time; a leader's
calls carry its epoch and are refused once another was elected (D28).
"""

from typing import Any, Final

from ..model.errors import NotLeader
from ..transport.scripts import Scripts

PAGE: Final = 200
"""Executions looked at by one script call, so that no call keeps the server from others for long."""


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
        """The same repairs, fenced by a leader's epoch."""
        return Maintenance(self._scripts, leader_id=leader_id, epoch=epoch)

    def reap(self) -> int:
        """Take back all grants whose lease ran out; returns how many."""
        return self._until_short(self._reap)

    def promote(self) -> int:
        """Move all that is due to PENDING; returns how many."""
        return self._until_short(self._promote)

    def sweep(self) -> int:
        """Expire all that waited longer than its lane's stale timeout, or its own maximum age; returns how many."""
        expired, more = 0, True
        while more:
            count, more = self._call(self._sweep, PAGE)
            expired += int(count)
        return expired

    def wake(self) -> int:
        """Push wake tokens to every lane that has a candidate; returns how many lanes have one."""
        return int(self._call(self._wake))

    def _until_short(self, source: Any) -> int:
        total = 0
        while True:
            count = int(self._call(source, PAGE))
            total += count
            if count < PAGE:
                return total

    def _call(self, source: Any, *arguments: Any) -> Any:
        answer = self._scripts.call(source, "" if self._epoch is None else self._epoch, *arguments)
        if answer == b"STALE_EPOCH":
            raise NotLeader(leader_id=self._leader_id, epoch=self._epoch or 0)
        return answer
