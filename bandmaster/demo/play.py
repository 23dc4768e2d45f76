"""Performs the demo: submits all while paused, cancels one, moves one, resumes, watches, cancels a running one, checks.

In the flow: `bandmaster demo`. It uses only a user's means: the service, the command line, the worker. All executions
are submitted while the queue is paused, so that the expected order of their starts is known.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import redis
from rich.console import Console
from rich.live import Live

from bandmaster.configs.children import child_environment
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

from .checks import Claim, check
from .display import LiveView, show_claims, show_table
from .observed import Observed
from .plan import Part, Planned, plan
from .stack import Stack, StackFailed

LIMIT: Final = 4
DEADLINE_SECONDS: Final = 240.0
POLL_SECONDS: Final = 0.1


class Play:
    """One performance."""

    def __init__(self, stack: Stack, client: redis.Redis, planned: list[Planned], console: Console) -> None:
        self._stack = stack
        redis_settings = stack.settings.redis
        self._queue = ExecutionQueueService(
            client, prefix=redis_settings.prefix, deadline_seconds=redis_settings.deadline_seconds
        )
        self._planned = planned
        self._console = console
        self._observed = Observed()
        self._last_entry: str | None = None
        self._cancelling: subprocess.Popen[bytes] | None = None

    def run(self) -> list[Claim]:
        """Perform the demo.

        Returns:
            The claims.

        Raises:
            StackFailed: If a process ended by itself, or the executions did not end in time.
            QueueRejected: If an execution was refused.
        """
        self._submit()
        self._queue.controls.resume()
        self._watch()
        show_table(self._console, self._planned, self._observed)
        claims = check(self._planned, self._observed, self._queue.views.status(), LIMIT)
        show_claims(self._console, claims)
        return claims

    def _submit(self) -> None:
        self._queue.controls.change_setting("max_concurrent_executions", LIMIT)
        self._queue.controls.pause()
        for outcome in self._queue.enqueue_many(planned.event for planned in self._planned):
            if isinstance(outcome, QueueRejected):
                raise outcome
        self._queue.update_priority(self._the(Part.REPRIORITISED).execution_id, Priority.CRITICAL)
        self._queue.cancel(self._the(Part.CANCELLED_WAITING).execution_id)
        self._console.print(
            f"{len(self._planned)} executions of three users submitted while paused; limit {LIMIT}; "
            "one cancelled, one reprioritised; now resumed."
        )

    def _the(self, part: Part) -> Planned:
        return next(planned for planned in self._planned if planned.part is part)

    def _watch(self) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        to_cancel = self._the(Part.CANCELLED_RUNNING).execution_id
        with Live(LiveView(self._planned, self._observed), console=self._console, refresh_per_second=8, transient=True):
            while self._observed.ended_count < len(self._planned):
                self._stack.check()
                if time.monotonic() > deadline:
                    raise StackFailed(f"not all ended within {DEADLINE_SECONDS:.0f} s; see {self._stack.folder}")
                self._read_journal()
                seen = self._observed.executions.get(to_cancel)
                if seen is not None and seen.state is State.POD and self._cancelling is None:
                    self._cancelling = self._cancel_as_a_user(to_cancel)
                time.sleep(POLL_SECONDS)
        if self._cancelling is not None and self._cancelling.wait() != 0:
            raise StackFailed(f"`bandmaster cancel` ended with exit code {self._cancelling.returncode}")

    def _read_journal(self) -> None:
        for entry in self._queue.journal.entries(after=self._last_entry):
            self._observed.read(entry)
            self._last_entry = entry.entry_id

    def _cancel_as_a_user(self, execution_id: str) -> "subprocess.Popen[bytes]":
        with (self._stack.folder / "cancel.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "bandmaster", "cancel", execution_id],
                env=child_environment(self._stack.replaced),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def perform(programs: Path, folder: Path, console: Console) -> list[Claim]:
    """Run the demo.

    Args:
        programs: The folder of the programs.
        folder: The folder for data and logs; it is emptied first.
        console: Where to show the demo.

    Returns:
        The claims, each checked.

    Raises:
        ProgramsMissing: If programs are missing.
        StackFailed: If a process ended by itself, or the demo took too long.
    """
    planned = plan(programs)
    stack = Stack(folder.absolute())
    with stack.running() as client:
        return Play(stack, client, planned, console).run()
