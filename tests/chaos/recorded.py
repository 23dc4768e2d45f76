"""What is known of a run when it is over: the journal, what the programs noted, and what was forgotten."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bandmaster.scheduler.engine.journal import JournalEntry
from chaos.notes import read_notes
from chaos.plan import Planned

ACCEPTED, REFUSED, DOUBTFUL = "accepted", "refused", "doubtful"


@dataclass(slots=True)
class Sent:
    """One message, as its producer knows of it."""

    planned: Planned
    sent_at: float
    told_at: float | None = None
    outcome: str = DOUBTFUL
    """Also that of a producer that was killed before it noted another."""


@dataclass(slots=True)
class Run:
    """One body, as its worker knows of it."""

    execution_id: str
    attempt: int
    over: str = ""
    """`ended` or `failed`; empty if its worker was killed meanwhile."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The server came back with a copy: what was written between these times is gone."""

    copied_at: float
    killed_at: float
    lost: tuple[JournalEntry, ...]

    def may_have(self, sent: Sent) -> bool:
        """Whether a message may have been accepted in that time."""
        told_at = self.killed_at if sent.told_at is None else sent.told_at
        return sent.sent_at <= self.killed_at and told_at >= self.copied_at


@dataclass(frozen=True, slots=True)
class Timed:
    """How far a schedule was planned at the end."""

    cursor_ms: int
    skipped: int
    """How many of its occurrences were left out since it was added."""
    now_ms: int
    """The server's time just before that was read."""


@dataclass(slots=True)
class Recorded:
    """All of it."""

    entries: list[JournalEntry] = field(default_factory=list[JournalEntry])
    """The journal as it is at the end: what a restored server has forgotten is not in it."""
    forgotten: list[Forgotten] = field(default_factory=list[Forgotten])
    sent: dict[str, Sent] = field(default_factory=dict[str, Sent])
    runs: list[Run] = field(default_factory=list[Run])
    cancelled: set[str] = field(default_factory=set[str])
    """What somebody asked to cancel."""

    schedules: dict[str, Timed] = field(default_factory=dict[str, Timed])
    """Those that there were at the end."""

    def read_notes(self, folder: Path) -> None:
        """What the programs noted."""
        self.sent = _read_sent(read_notes(folder, "sends"))
        self.runs = _read_runs(read_notes(folder, "runs"))


def _read_sent(lines: Iterable[dict[str, Any]]) -> dict[str, Sent]:
    found: dict[str, Sent] = {}
    for line in lines:
        name = line["id"]
        if line["what"] == "sends":
            planned = {name: line[name] for name in Planned.__dataclass_fields__}
            found[name] = Sent(Planned(**planned), line["at"])
        else:
            found[name].told_at, found[name].outcome = line["at"], line["what"]
    return found


def _read_runs(lines: Iterable[dict[str, Any]]) -> list[Run]:
    runs: list[Run] = []
    open_: dict[tuple[str, int], Run] = {}
    for line in lines:
        key = (line["id"], line["attempt"])
        if line["what"] == "began":
            open_[key] = Run(*key)
            runs.append(open_[key])
        else:
            open_[key].over = line["what"]
    return runs
