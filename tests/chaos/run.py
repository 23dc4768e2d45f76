"""A chaos run: processes on a server of their own, with work all along, while faults are made; then the last look.

What others will want to have in it gets a place of its own: programs in `crew.py`, what people do in `operators.py`,
faults in `faults.py`, and what must hold in `judging.py`, each with a kind in `found.py` that can be planted.
"""

import random
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from bandmaster.scheduler.model.errors import BandmasterError
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from chaos import own_clock, own_network
from chaos.closing import SETTLING_SECONDS, Closing
from chaos.crew import PRODUCERS, SCHEDULERS, WORKERS, Crew
from chaos.faults import ENDING_SECONDS, Faults
from chaos.following import Following
from chaos.found import Found, Kind
from chaos.judging import judge
from chaos.occurrences import instant_of_id
from chaos.operators import Operators
from chaos.own_data import CopiedServer
from chaos.plan import FAIR, KIND, LANES, THREADS, WEIGHTS
from chaos.planted import plant, plant_in_redis
from chaos.recorded import ACCEPTED, DOUBTFUL, REFUSED, Recorded

PROGRESS_SECONDS: Final = 10.0
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
    planted: Sequence[Kind] = (),
    settling_seconds: float = SETTLING_SECONDS,
    say: Callable[[str], None] = print,
) -> Report:
    """Do it all.

    Args:
        seed: Of work, faults and changes.
        seconds: How long faults are made; settling comes on top.
        planted: What must not be, so the run has to find it.
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
        _harm(faults, operators, hasty, chance, seconds, say)
        say("no more faults; what is under way ends")
        deadline = time.monotonic() + ENDING_SECONDS + 1
        while not faults.end() and time.monotonic() < deadline:
            time.sleep(0.1)  # a worker that was asked to end is waited for
        crew.end_producers(timeout_seconds=60)
        operators.end()
        operators.timetable.end(settling_seconds, faults.later.look)
        closing.wait_for_ends(faults.later.look)
        following.read_on()
        crew.wait_until_ready()
        plant_in_redis(planted, queue)
        closing.look(WORKERS * THREADS + (Kind.NO_THREAD in planted))
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


def _harm(
    faults: Faults,
    operators: Operators,
    queue: ExecutionQueueService,
    chance: random.Random,
    seconds: float,
    say: Callable[[str], None],
) -> None:
    began = said_at = time.monotonic()
    while (elapsed := time.monotonic() - began) < seconds:
        # The moment itself, not a wait for something; what is due is ended meanwhile.
        pause_until = time.monotonic() + chance.uniform(0.1, 1.5)
        while time.monotonic() < pause_until:
            faults.later.look()
            time.sleep(0.05)
        operators.act()
        if done := faults.one():
            say(f"{elapsed:6.0f} s  {done}")
        if time.monotonic() - said_at > PROGRESS_SECONDS:
            said_at = time.monotonic()
            say(f"{elapsed:6.0f} s  {faults.done.total()} faults; {_progress(queue)}")


def _progress(queue: ExecutionQueueService) -> str:
    try:
        return f"{sum(queue.views.lane_size(lane) for lane in LANES)} wait or run"
    except BandmasterError:
        return "the server is away"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{what} {count}" for what, count in sorted(counts.items()))
