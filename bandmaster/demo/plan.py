"""Plans the demo's executions: real programs of three users in all five bands, and programs that cause trouble.

In the flow: the plan is made before anything runs; `checks` compares the observations with it. The order of submission
is shuffled with a fixed seed: it is the same in every run, and a wrong queue could not produce the expected order by
chance.
"""

import random
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bandmaster.scheduler.events import ExecutionRequestedEvent, Metadata
from bandmaster.scheduler.model.identifiers import new_execution_id
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

PROGRAMS: Final = Path(__file__).parent / "programs"
"""The folder of the programs that come with the package."""
USERS: Final = ("ann", "ben", "cleo")
SEED: Final = 20_260
PROGRAMS_AT_LEAST: Final = 16
MEMORY_LIMIT: Final = "128Mi"
NEVER_ENDS_TIMEOUT_SECONDS: Final = 4


class Part(StrEnum):
    """The role of an execution in the demo."""

    RUNS = "runs"
    FAILS = "fails"
    NEVER_ENDS = "never ends"
    TAKES_TOO_MUCH_MEMORY = "takes too much memory"
    CANCELLED_WAITING = "cancelled while waiting"
    CANCELLED_RUNNING = "cancelled while running"
    REPRIORITISED = "reprioritised"


ENDS_AS: Final = {
    Part.RUNS: (State.COMPLETED, "Completed"),
    Part.FAILS: (State.FAILED, "Error"),
    Part.NEVER_ENDS: (State.TIMEOUT, "DeadlineExceeded"),
    Part.TAKES_TOO_MUCH_MEMORY: (State.FAILED, "OOMKilled"),
    Part.CANCELLED_WAITING: (State.CANCELLED, "cancelled"),
    Part.CANCELLED_RUNNING: (State.CANCELLED, "cancelled"),
    Part.REPRIORITISED: (State.COMPLETED, "Completed"),
}
"""The expected terminal state and reason of each part."""


class ProgramsMissing(Exception):
    """The folder of programs is not there, or lacks some."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One execution of the demo."""

    event: ExecutionRequestedEvent
    title: str
    part: Part

    @property
    def execution_id(self) -> str:
        """Its id."""
        return self.event.execution_id

    @property
    def started_priority(self) -> Priority:
        """The band it is in when it may start."""
        return Priority.CRITICAL if self.part is Part.REPRIORITISED else self.event.priority


def plan(folder: Path = PROGRAMS) -> list[Planned]:
    """Plan the executions, in the order of their submission.

    Args:
        folder: The folder of the programs.

    Raises:
        ProgramsMissing: If the folder lacks programs that are needed.
    """
    programs = sorted(path for path in folder.glob("*") if path.suffix in (".py", ".sh"))
    trouble = {name: folder / "trouble" / f"{name}.py" for name in TROUBLE}
    missing = [str(path) for path in trouble.values() if not path.is_file()]
    if not programs or missing:
        raise ProgramsMissing(f"{folder} has {len(programs)} programs and lacks {', '.join(missing) or 'nothing'}")
    dice = random.Random(SEED)
    cast: list[tuple[Path, Part, Priority]] = [
        (programs[i % len(programs)], Part.RUNS, Priority(i % len(Priority)))
        for i in range(max(PROGRAMS_AT_LEAST, len(programs)))
    ]
    cast += [(trouble[name], part, priority) for name, (part, priority) in TROUBLE.items()]
    cast.append((programs[0], Part.REPRIORITISED, Priority.BACKGROUND))
    cast.append((programs[1], Part.CANCELLED_WAITING, Priority.HIGH))
    dice.shuffle(cast)
    return [_planned(path, part, priority, USERS[i % len(USERS)]) for i, (path, part, priority) in enumerate(cast)]


TROUBLE: Final[dict[str, tuple[Part, Priority]]] = {
    "fails": (Part.FAILS, Priority.NORMAL),
    "never_ends": (Part.NEVER_ENDS, Priority.HIGH),
    "takes_too_much_memory": (Part.TAKES_TOO_MUCH_MEMORY, Priority.LOW),
    "long_running": (Part.CANCELLED_RUNNING, Priority.CRITICAL),
}


def _planned(path: Path, part: Part, priority: Priority, user: str) -> Planned:
    text = path.read_text(encoding="utf-8")
    fields: dict[str, Any] = {}
    if part is Part.NEVER_ENDS:
        fields["timeout_seconds"] = NEVER_ENDS_TIMEOUT_SECONDS
    event = ExecutionRequestedEvent(
        execution_id=new_execution_id(),
        script=text,
        file_name=path.name,
        priority=priority,
        memory_limit=MEMORY_LIMIT,
        metadata=Metadata(user_id=user, labels={"program": path.stem.replace("_", "-")}),
        **fields,
    )
    return Planned(event, _title(text) or path.stem, part)


def _title(text: str) -> str:
    for line in text.splitlines()[:3]:
        title = line.strip().lstrip('#"').rstrip('".').strip()
        if title and not title.startswith("!"):
            return title
    return ""


def expected_order(planned: list[Planned]) -> list[str]:
    """The ids in the expected order of starts: by band, and within a band as submitted."""
    waiting = [p for p in planned if p.part is not Part.CANCELLED_WAITING]
    return [p.execution_id for p in sorted(waiting, key=lambda p: p.started_priority)]
