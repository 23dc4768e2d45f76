"""Chosen moments: the worker's own commands to Redis tell where it stands, and a proxy holds it there.

Before a command it is killed with the command unsent; after it, the effect has happened and the reply is never read.
That is as exact as a failpoint, and the worker runs unchanged.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from proxy import Command, Loss, Proxy

from bandmaster.scheduler.transport.library import assemble
from faults_process.members import Member
from waiting import GENEROUS_SECONDS, wait_until

Matches = Callable[[Command], bool]


def script(name: str, *words: bytes) -> Matches:
    """Calls of a script of the engine that have certain words among their arguments."""
    function = assemble().scripts[name].function.encode()

    def matches(command: Command) -> bool:
        return command[0].upper() == b"FCALL" and command[1] == function and all(_has(command, word) for word in words)

    return matches


def reads_meta(execution_id: str) -> Matches:
    """The read of an execution's record, which is the first thing a body does."""
    return lambda command: command[0].upper() == b"HGETALL" and command[1].endswith(f":meta:{execution_id}".encode())


def _has(command: Command, word: bytes) -> bool:
    return any(word in argument for argument in command[2:])


@dataclass(slots=True)
class Moment:
    """A command of one worker, before or after its effect."""

    proxy: Proxy
    matches: Matches
    after: bool
    _here: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _aborted: bool = False

    def arm(self) -> None:
        """From now on, wait for the moment."""
        self.proxy.lose_reply(self._doomed, Loss.SILENT)

    def _doomed(self, command: Command) -> bool:
        if self._here.is_set() or not self.matches(command):
            return False
        self._here.set()
        if self.after:
            return True
        self._over.wait(GENEROUS_SECONDS)
        if self._aborted:
            raise ConnectionAbortedError
        return False

    def reached(self) -> None:
        """Wait until the worker is there."""
        wait_until(self._here.is_set, what="the moment")
        if self.after:
            wait_until(lambda: self.proxy.lost > 0, what="the effect")

    def kill(self, worker: Member) -> None:
        """Kill the worker there: the command was not sent, or its reply not read."""
        self.reached()
        worker.kill()
        self._aborted = True
        self._over.set()

    def stop(self, worker: Member) -> None:
        """Let the worker sleep there; the command takes effect now, and its reply is read when the worker goes on."""
        self.reached()
        worker.stop()
        self._over.set()

    def pass_on(self) -> None:
        """Let the worker go on."""
        self._over.set()
