"""Displays the demo: live progress while it runs, then the table and the claims.

In the flow: reads the plan and the observed executions; changes nothing.
"""

import statistics
import time
from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

from .checks import Claim
from .observed import Observed, Seen
from .plan import Planned, expected_order

STATE_STYLES: Final = {
    State.COMPLETED: "green",
    State.FAILED: "red",
    State.TIMEOUT: "yellow",
    State.CANCELLED: "magenta",
}


class LiveView:
    """The progress bar, the number of waiting executions per band, and the running ones."""

    def __init__(self, planned: list[Planned], observed: Observed) -> None:
        self._planned = {p.execution_id: p for p in planned}
        self._observed = observed
        self._progress = Progress(
            TextColumn("executions"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), expand=False
        )
        self._task = self._progress.add_task("executions", total=len(planned))

    def __rich__(self) -> Group:
        """Render the present state."""
        self._progress.update(self._task, completed=self._observed.ended_count)
        return Group(self._progress, self._waiting(), self._running())

    def _waiting(self) -> Text:
        counts = dict.fromkeys(Priority, 0)
        for seen in self._observed.executions.values():
            if seen.state is State.PENDING:
                counts[Priority(seen.band)] += 1
        return Text("waiting    " + "  ".join(f"{p.name.lower()} {n}" for p, n in counts.items()), style="dim")

    def _running(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for execution_id in sorted(self._observed.holding):
            planned, seen = self._planned.get(execution_id), self._observed.executions[execution_id]
            if planned is not None and seen.admitted_ms:
                seconds = max(0.0, time.time() - seen.admitted_ms[-1] / 1000)
                title = planned.title if len(planned.title) <= 52 else planned.title[:51] + "…"
                table.add_row(
                    "running ",
                    Priority(seen.band).name.lower(),
                    planned.event.metadata.user_id,
                    title,
                    f"{seconds:.0f} s",
                )
        return table


def show_table(console: Console, planned: list[Planned], observed: Observed) -> None:
    """Print every execution in the expected order of starts."""
    by_id = {p.execution_id: p for p in planned}
    started = {execution_id: place for place, execution_id in enumerate(observed.started, 1)}
    table = Table(title="Started against expected order", title_justify="left", header_style="bold")
    for heading in ("expected", "started"):
        table.add_column(heading, justify="right")
    table.add_column("band")
    table.add_column("user")
    table.add_column("program", no_wrap=True, overflow="ellipsis", max_width=46)
    for heading in ("waited", "ran"):
        table.add_column(heading, justify="right")
    table.add_column("outcome")
    expected = expected_order(planned)
    for place, execution_id in enumerate(expected, 1):
        _add(table, str(place), str(started.get(execution_id, "never")), by_id[execution_id], observed)
    for each in planned:
        if each.execution_id not in expected:
            _add(table, "–", "–", each, observed)
    console.print(table)
    console.print(_waits(planned, observed))


def _add(table: Table, place: str, started: str, planned: Planned, observed: Observed) -> None:
    seen = observed.executions.get(planned.execution_id, Seen())
    first = seen.admitted_ms[0] if seen.admitted_ms else None
    waited = f"{(first - seen.parked_ms) / 1000:.1f} s" if first else "–"
    ran = f"{(seen.ended_ms - first) / 1000:.1f} s" if first and seen.ended_ms else "–"
    state = seen.state or State.PENDING
    outcome = Text(f"{state}", style=STATE_STYLES.get(state, ""))
    if state is not State.COMPLETED:
        outcome.append(f" {seen.reason}")
    band = planned.started_priority.name.lower()
    if planned.started_priority is not planned.event.priority:
        band += f" (was {planned.event.priority.name.lower()})"
    table.add_row(
        place,
        Text(started, style="" if started == place else "bold red"),
        band,
        planned.event.metadata.user_id or "",
        planned.title,
        waited,
        ran,
        outcome,
    )


def _waits(planned: list[Planned], observed: Observed) -> Table:
    table = Table(title="Wait by band", title_justify="left", header_style="bold")
    table.add_column("band")
    for heading in ("executions", "median", "longest"):
        table.add_column(heading, justify="right")
    for priority in Priority:
        waits = [
            (seen.admitted_ms[0] - seen.parked_ms) / 1000
            for p in planned
            if p.started_priority is priority
            and (seen := observed.executions.get(p.execution_id)) is not None
            and seen.admitted_ms
        ]
        if waits:
            table.add_row(
                priority.name.lower(), str(len(waits)), f"{statistics.median(waits):.1f} s", f"{max(waits):.1f} s"
            )
    return table


def show_claims(console: Console, claims: Iterable[Claim]) -> None:
    """Print each claim and its contradictions."""
    for claim in claims:
        mark = Text("✓ ", style="green") if claim.holds else Text("✗ ", style="bold red")
        console.print(mark + Text(claim.sentence))
        for contradiction in claim.contradictions[:10]:
            console.print(Text(f"    {contradiction}", style="red"))
