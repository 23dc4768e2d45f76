"""Waits for executions to end, with live progress on a terminal.

In the flow: `submit --wait`. It only reads, so Ctrl-C, a closed terminal or a killed command change nothing: the
submitted executions go on, and `show` tells their outcome later.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bandmaster.cli.desk.port import Executions
from bandmaster.cli.exits import Exit
from bandmaster.cli.notes import note
from bandmaster.cli.screen import notes
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.model.states import HOLDING

POLL_SECONDS: Final = 0.2
SAY_EACH_SECONDS: Final = 3.0
SAID_AT_MOST: Final = 5
"""With at most so many open executions, it says what their pods wait for: nobody would read more."""


@contextmanager
def progress_bar(what: str, total: int, *, wanted: bool = True) -> Generator[Progress]:
    """A progress bar on standard error, if it is wanted and standard error is a terminal."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=notes(),
        transient=True,
        disable=not wanted or not notes().is_terminal or notes().is_dumb_terminal,
    )
    with progress:
        progress.add_task("", total=total)
        yield progress


def wait_until_ended(executions: Executions, execution_ids: Sequence[str]) -> dict[str, Record]:
    """Wait until all executions have ended; once few are left, say what their pods wait for.

    With very many executions, the pauses between two looks grow.

    Returns:
        Their records, without executions that are no longer known.

    Raises:
        Exit: At Ctrl-C, after a message that the executions go on.
    """
    records: dict[str, Record] = {}
    open_ids = list(execution_ids)
    said: dict[str, str] = {}
    say_at = time.monotonic() + SAY_EACH_SECONDS
    try:
        with progress_bar("executions", len(open_ids)) as progress:
            while True:
                seen = executions.records(open_ids)
                records |= seen
                looked_at = max(1, len(open_ids))
                open_ids = [one for one in open_ids if one in seen and not seen[one].ended]
                progress.update(
                    progress.task_ids[0],
                    completed=len(execution_ids) - len(open_ids),
                    description=_said([records[one] for one in open_ids]),
                )
                if not open_ids:
                    return {one: records[one] for one in execution_ids if one in records}
                if time.monotonic() >= say_at and len(open_ids) <= SAID_AT_MOST:
                    for one in open_ids:
                        words = executions.pod_waits_for(records[one])
                        if words and said.get(one) != words:
                            note(f"{one} waits: {words}")
                        said[one] = words
                    say_at = time.monotonic() + SAY_EACH_SECONDS
                time.sleep(max(POLL_SECONDS, looked_at / executions.reads_a_second))
    except KeyboardInterrupt:
        which = open_ids[0] if len(open_ids) == 1 else "ID"
        note(f"not waiting any longer; {len(open_ids)} go on: look with `bandmaster show {which}`")
        raise typer.Exit(Exit.INTERRUPTED) from None


def _said(records: list[Record]) -> str:
    running = sum(record.state in HOLDING for record in records)
    return f"{running} running, {len(records) - running} waiting"
