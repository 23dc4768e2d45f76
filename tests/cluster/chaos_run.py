"""One chaos run: work and faults for a time, observers all along, then everything that must hold.

In the flow: `chaos.py` is its command, `test_chaos_cluster.py` makes a short one. It has the cluster for itself, and a
server, a namespace, a folder, two workers and a scheduler process of its own.
"""

import random
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import redis
from chaos_closing import SETTLING_SECONDS, Closing
from chaos_faults import Faults
from chaos_looking import Observers
from chaos_planted import Planting
from chaos_rules import Rules
from chaos_work import Work
from cluster_admin import Admin
from components import Components
from faults_server.restoring import restoring_server
from installation import LIMIT, Installation
from making import pod_settings

from bandmaster.scheduler.model.states import TERMINAL
from waiting import wait_until

WORKERS: Final = 2
PROGRESS_SECONDS: Final = 10.0
MOST_MAX: Final = 1_000
"""Crashes and lost pods that are forgiven: a run makes many, and none may end an execution."""


@dataclass(slots=True)
class Report:
    """What came of a run."""

    seed: int
    seconds: float
    faults: dict[str, int] = field(default_factory=dict[str, int])
    executions: int = 0
    forgotten: int = 0
    retries: int = 0
    outputs_lost: int = 0
    verbs: dict[str, int] = field(default_factory=dict[str, int])
    most_programs: int = 0
    looks: int = 0
    lists: int = 0
    violations: dict[str, int] = field(default_factory=dict[str, int])

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"seed {self.seed}, {self.seconds:.0f} s",
            "faults      " + ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items())),
            f"executions  {self.executions}, and {self.forgotten} that a restored server had forgotten",
            f"attempts    {self.retries} beyond the first",
            f"outputs     {self.outputs_lost} lost with a pod that was deleted as its program ended",
            "journal     " + ", ".join(f"{verb} {count}" for verb, count in sorted(self.verbs.items())),
            f"observers   {self.looks} looks at the processes, {self.lists} lists of the pods",
            f"programs    at most {self.most_programs} at once in {LIMIT} slots",
            f"violations  {len(self.violations)}",
            *(f"  {what} ({count} times)" for what, count in self.violations.items()),
        ]


def run_chaos(
    kubeconfig: str,
    components: Callable[[Admin], Components],
    *,
    seed: int,
    seconds: float,
    planted: Sequence[str] = (),
    settling_seconds: float = SETTLING_SECONDS,
    say: Callable[[str], None] = print,
) -> Report:
    """Do it all.

    Args:
        kubeconfig: Of the cluster.
        components: Its processes.
        seed: Of work and faults.
        seconds: How long faults are made; settling comes on top.
        planted: Some of `PLANTED`: what must not be, so the run has to find violations.
        settling_seconds: How long what is under way may take to end, and what is left to go.
        say: Is told how it goes.
    """
    admin = Admin(kubeconfig)
    folder = Path(tempfile.mkdtemp(prefix="bandmaster-chaos-"))
    namespace = admin.create_namespace()
    report = Report(seed, seconds)
    say(f"namespace {namespace}, logs in {folder}")
    try:
        with restoring_server() as server, redis.Redis.from_url(server.url) as client:
            installation = Installation(client, server.url, folder, pod_settings(kubeconfig, namespace), admin)
            for name in ("max_crashes", "max_infrastructure_retries"):
                installation.queue.controls.change_setting(name, MOST_MAX)
            prefix, chance, rules = f"chaos-{secrets.token_hex(3)}-", random.Random(seed), Rules(LIMIT)
            work = Work(installation, chance, prefix)
            observers = Observers(rules, installation.queue, admin, namespace, prefix)
            faults = Faults(installation, server, admin, components(admin), rules, work, observers, chance)
            closing = Closing(installation, admin, rules, work, folder, prefix, settling_seconds)
            planting = Planting(planted, installation, admin, work)
            try:
                with observers:
                    _harm(faults, work, rules, planting, chance, seconds, installation, say)
                    say("no more faults; what is under way ends")
                    closing.look()
            finally:
                planting.clear()
                installation.members.end_all()
            closing.folder_is_clean()
            report.faults, report.executions, report.forgotten = dict(faults.done), len(work.accepted), work.forgotten
            report.retries, report.verbs, report.most_programs = closing.retries, closing.verbs, rules.most_programs
            report.outputs_lost = closing.outputs_lost
            report.looks, report.lists, report.violations = observers.looks, observers.lists, rules.violations
    finally:
        admin.remove_namespace(namespace)
    if not report.violations:
        shutil.rmtree(folder)
    return report


def _harm(
    faults: Faults,
    work: Work,
    rules: Rules,
    planting: Planting,
    chance: random.Random,
    seconds: float,
    installation: Installation,
    say: Callable[[str], None],
) -> None:
    faults.remember()
    faults.start_workers(WORKERS)
    installation.members.scheduler(settings=installation.configured())
    began = time.monotonic()
    said_at = began
    while (elapsed := time.monotonic() - began) < seconds:
        work.top_up()
        time.sleep(chance.uniform(0.5, 3.0))  # the moment itself, not a wait for something
        if done := faults.one():
            say(f"{elapsed:6.0f} s  {done}")
        if time.monotonic() - said_at > PROGRESS_SECONDS:
            said_at = time.monotonic()
            ids = list(work.accepted)
            metas = dict(zip(ids, installation.metas(ids), strict=True))
            with rules.lock:
                rules.see_states(metas)
            over = sum(meta.get("state") in TERMINAL for meta in metas.values())
            say(f"{elapsed:6.0f} s  {len(ids)} accepted, {over} ended, {len(rules.violations)} violations")
    # Now, when no restore takes it away again.
    wait_until(planting.is_done, timeout_seconds=60, what="something to plant it on")
