"""A chaos run: processes on a server of their own, with work all along, while faults are made; then the last look.

What others will want to have in it gets a place of its own: programs in `crew.py`, what people do in `operators.py`,
faults in `faults.py`, and what must hold in `judging.py`, each with a kind in `found.py` that can be planted.
"""

import random
import shutil
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from chaos import own_clock, own_network
from chaos.closing import SETTLING_SECONDS, Closing
from chaos.crew import PRODUCERS, SCHEDULERS, WORKERS, Crew
from chaos.enough import Enough
from chaos.faults import Faults
from chaos.following import Following
from chaos.found import Found, Kind
from chaos.judging import judge
from chaos.occurrences import instant_of_id
from chaos.operators import Operators
from chaos.own_data import CopiedServer
from chaos.plan import FAIR, KIND, LANES, THREADS, WEIGHTS
from chaos.planted import plant, plant_in_redis
from chaos.recorded import ACCEPTED, DOUBTFUL, REFUSED, Recorded
from chaos.weather import Weather

HASTY_SECONDS: Final = 2.0
"""Of calls while faults are made: the driver has to go on, to end them."""
PATIENT_SECONDS: Final = 60.0
"""Of calls where nothing is away, though the machine may be slow."""


@dataclass(slots=True)
class Report:
    """What came of a run."""

    seed: int
    seconds: float
    packets: str = ""
    """Why none can get lost; empty if some can."""
    clock: str = ""
    """Why it cannot leap; empty if it can."""
    faults: dict[str, int] = field(default_factory=dict[str, int])
    changes: int = 0
    sent: dict[str, int] = field(default_factory=dict[str, int])
    executions: int = 0
    forgotten: int = 0
    occurrences: int = 0
    """Of schedules, that ran."""
    retries: int = 0
    runs: int = 0
    settled_after_seconds: float = 0.0
    verbs: dict[str, int] = field(default_factory=dict[str, int])
    looked: dict[str, int] = field(default_factory=dict[str, int])
    """How often each kind of violation was looked for where it could have been."""
    violations: dict[str, int] = field(default_factory=dict[str, int])
    details: list[str] = field(default_factory=list[str])

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"seed {self.seed}, {self.seconds:.0f} s; {WORKERS} workers of {THREADS} threads, {len(LANES)} lanes, "
            f"{SCHEDULERS} schedulers, {len(PRODUCERS)} producers",
            f"faults      {sum(self.faults.values())}: " + _counted(self.faults),
            *([f"            no packets lost: {self.packets}"] if self.packets else []),
            *([f"            no leaps of the clock: {self.clock}"] if self.clock else []),
            f"changes     {self.changes} by operators",
            f"sent        {_counted(self.sent)}",
            f"executions  {self.executions}, and {self.forgotten} entries that a restored server had forgotten",
            f"schedules   {self.occurrences} occurrences ran",
            f"attempts    {self.retries} beyond the first, {self.runs} runs of bodies",
            f"journal     {_counted(self.verbs)}",
            f"settled     {self.settled_after_seconds:.0f} s after the last fault",
            f"looked for  {_counted(self.looked)}",
            f"violations  {sum(self.violations.values())}",
            *(f"  {line}" for line in self.details),
        ]


def run_chaos(
    *,
    seed: int,
    seconds: float,
    least_faults: int = 0,
    planted: Sequence[Kind] = (),
    rules: Collection[Kind] = (),
    settling_seconds: float = SETTLING_SECONDS,
    say: Callable[[str], None] = print,
) -> Report:
    """Do it all.

    Args:
        seed: Of work, faults and changes.
        seconds: How long faults are made at least; settling comes on top.
        least_faults: How many are made at least.
        planted: What must not be, so the run has to find it.
        rules: Faults are made until the work has come to each of these, too.
        settling_seconds: How long what is under way may take to end.
        say: Is told how it goes.
    """
    # Not deep: the path of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="bm-chaos-"))
    chance, found, recorded = random.Random(seed), Found(), Recorded()
    packets = "" if own_network.is_inside() else own_network.why_not() or "not asked for"
    report = Report(seed, seconds, packets, own_clock.why_not() or "")
    say(f"logs and notes in {folder}")
    server = CopiedServer(folder)
    server.start()
    queue = ExecutionQueueService(client_of(server.url), deadline_seconds=PATIENT_SECONDS)
    hasty = ExecutionQueueService(client_of(server.url), deadline_seconds=HASTY_SECONDS)
    operators = Operators(queue, hasty, recorded, chance)
    operators.begin()
    crew = Crew(server.url, folder, chance)
    try:
        following = Following(queue, server, recorded)
        faults = Faults(crew, server, following, chance)
        closing = Closing(queue, found, settling_seconds)
        enough = Enough(hasty, following, folder, rules)
        Weather(faults, operators, hasty, chance, say).last(seconds, least_faults, enough.is_recorded)
        say("no more faults; what is under way ends")
        crew.end_producers(timeout_seconds=60)
        operators.end()
        operators.timetable.end(settling_seconds, faults.later.look)
        closing.wait_for_ends(faults.later.look)
        following.read_on()
        crew.wait_until_ready()
        plant_in_redis(planted, queue)
        is_one_missing = Kind.NO_THREAD in planted
        closing.look(WORKERS * THREADS + is_one_missing, HASTY_SECONDS if is_one_missing else SETTLING_SECONDS)
    finally:
        crew.end()
        server.end()
    recorded.read_notes(folder)
    plant(planted, recorded)
    replay = judge(recorded, found, {FAIR: KIND}, WEIGHTS)
    report.faults, report.changes = dict(faults.done), operators.done
    outcomes = [sent.outcome for sent in recorded.sent.values()]
    report.sent = {each: outcomes.count(each) for each in (ACCEPTED, REFUSED, DOUBTFUL)}
    report.executions, report.runs = len(replay.executions), len(recorded.runs)
    report.forgotten = sum(len(each.lost) for each in recorded.forgotten)
    report.occurrences = sum(bool(each.granted and instant_of_id(name)) for name, each in replay.executions.items())
    report.retries = sum(max(0, each.attempt - 1) for each in replay.executions.values())
    report.verbs, report.settled_after_seconds = dict(replay.verbs), closing.seconds
    report.violations = {kind.value: count for kind, count in found.counts.items()}
    report.looked = {kind.value: count for kind, count in found.looked.items()}
    report.details = found.lines()
    if planted or not found.total:
        shutil.rmtree(folder)
    return report


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
