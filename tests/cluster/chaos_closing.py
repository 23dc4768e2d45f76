"""What must hold when a chaos run is over: everything has ended once, as it should, and nothing is left behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from chaos_looking import running_programs
from chaos_rules import Rules
from chaos_work import TENANTS, Work
from cluster_admin import Admin
from history import History
from installation import Installation
from model.dump import Dump, read_dump
from model.invariants import Invariants, left_behind

from bandmaster.scheduler.model.states import TERMINAL, State
from waiting import wait_until

SETTLING_SECONDS: Final = 240.0
REASONS_OF_THE_HARMED: Final = ("Deleted", "Evicted", "Preempted", "Error")


class Closing:
    """The last look at an installation; its workers run on meanwhile."""

    def __init__(
        self,
        installation: Installation,
        admin: Admin,
        rules: Rules,
        work: Work,
        folder: Path,
        prefix: str,
        settling_seconds: float,
    ) -> None:
        self.retries = 0
        """Attempts beyond the first of each."""
        self.outputs_lost = 0
        """With pods that were deleted as their programs ended."""
        self.verbs: dict[str, int] = {}
        """What the journal tells of → how often."""
        self._installation = installation
        self._admin = admin
        self._rules = rules
        self._work = work
        self._folder = folder
        self._prefix = prefix
        self._settling_seconds = settling_seconds

    def look(self) -> None:
        """All of it; what does not hold is told to the rules."""
        for check in (self._all_end, self._nothing_is_left, self._the_journal_allows_it, self._redis_is_sound):
            self._hold(check)
        self._hold(self._each_came_to_its_end)

    def _hold(self, check: Callable[[], None]) -> None:
        try:
            check()
        except AssertionError as error:
            self._rules.violated(f"{check.__name__.strip('_')}: {error}")

    def _all_end(self) -> None:
        def living() -> dict[str, str]:
            ids = list(self._work.accepted)
            metas = self._installation.metas(ids)
            states = {name: meta.get("state", "unknown") for name, meta in zip(ids, metas, strict=True)}
            return {name: state for name, state in states.items() if state not in TERMINAL}

        self._wait(living, "executions that have not ended")

    def _nothing_is_left(self) -> None:
        namespace = self._installation.namespace

        def held() -> list[str]:
            pods = self._admin.pods(namespace)
            return [pod["metadata"]["name"] for pod in pods if pod["metadata"].get("finalizers")]

        self._wait(held, "pods that are held for their results")
        self._wait(lambda: [pod["metadata"]["name"] for pod in self._admin.pods(namespace)], "pods")
        self._wait(lambda: self._admin.config_maps(namespace), "ConfigMaps")
        self._wait(lambda: sorted(running_programs(self._prefix)), "programs")

    def _wait(self, left: Callable[[], object], what: str) -> None:
        try:
            wait_until(lambda: not left(), timeout_seconds=self._settling_seconds, what=what)
        except AssertionError:
            raise AssertionError(f"{what} are left after {self._settling_seconds:.0f} s: {left()}") from None

    def _the_journal_allows_it(self) -> None:
        history = History(self._rules.slots, TENANTS).read(self._installation.queue.journal.entries())
        self.verbs = dict(history.verbs)
        self.retries = sum(max(0, each.attempt - 1) for each in history.executions.values())
        missing = self._work.accepted.keys() - history.executions.keys()
        unknown = history.executions.keys() - self._work.accepted.keys() - self._work.doubtful
        assert not missing, f"accepted, and not in the journal: {sorted(missing)}"
        assert not unknown, f"in the journal, and never submitted: {sorted(unknown)}"
        assert not history.living(), f"not ended: {history.living()}"

    def _redis_is_sound(self) -> None:
        dump = read_dump(self._installation.queue.scripts.client, self._installation.queue.scripts.keys)
        dump = Dump({key: entry for key, entry in dump.keys.items() if not key.startswith("lock:")})
        Invariants().check(dump, one_step=False)
        assert not left_behind(dump), f"keys without an owner: {sorted(left_behind(dump))}"
        assert not dump["active"].parts, f"slots that are held: {dump['active'].parts}"
        assert self._installation.queue.views.dead() == [], "dead letters"

    def _each_came_to_its_end(self) -> None:
        ids = list(self._work.accepted)
        for name, meta in zip(ids, self._installation.metas(ids), strict=True):
            planned, result = self._work.accepted[name], self._installation.result(name)
            state = meta.get("state")
            found = f"{name} is {state} with {json.dumps(result)}"
            by_itself = state == planned.state and result.get("exit_code") == planned.exit_code
            if by_itself:
                # A pod that is deleted as its program ends: its kubelet may throw the log away before anybody reads it.
                has_output = result.get("output_tail") == f"over {name}\n"
                self.outputs_lost += not has_output
                self._expect(has_output or planned.harmed, f"{found}: its output is not all there")
            elif planned.harmed and state == State.FAILED:
                self._expect(result.get("reason") in REASONS_OF_THE_HARMED, f"{found}: nobody did that to it")
            else:
                self._expect(planned.cancelled and state == State.CANCELLED, f"{found}, and nobody harmed it")

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self._rules.violated(otherwise)

    def folder_is_clean(self) -> None:
        """When all processes have ended: logs are all that is left of them."""
        left = sorted(str(path.relative_to(self._folder)) for path in self._folder.rglob("*") if path.suffix != ".log")
        if left:
            self._rules.violated(f"left in the workers' folder: {left}")
