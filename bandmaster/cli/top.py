"""``bandmaster top``: shows in a terminal what the queue does, again and again, until Ctrl-C.

In the flow: reads only, a thin layer around the desk. If the server does not answer for a while, what was seen last
stays with a word on why, and it goes on by itself; at the first look, that is an error as for any command.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.port import Desk
from bandmaster.cli.desk.told import Standing
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.expected import EXPECTED, sentence_of
from bandmaster.cli.notes import escaped, note
from bandmaster.cli.occupancy import gate_json, limit_of, named, opening_of, rate_of
from bandmaster.cli.screen import Column, output, say_json, table_of
from bandmaster.cli.status import document_of, sum_of
from bandmaster.cli.top_of_shards import top_of_shards
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.workers import WorkerSigned

SHOWN: Final = 8
"""So many verdicts, lanes, gates and workers are shown; the terminal may be too low for more."""
FOREMOST: Final = 20
"""So many gates and workers a JSON line has."""
_RIGHT: Final = ("WAITING", "RUNNING", "SCHEDULED", "HELD", "BUSY")


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment."""

    standing: Standing
    workers: list[WorkerSigned]
    ended: int
    """How many executions ever ended, of the actions that are counted."""
    at_seconds: float
    """By a clock that nobody sets."""


def top(
    every: Annotated[float, typer.Option("--every", "-d", min=0.2, max=3600, help="Seconds between two looks.")] = 2.0,
    count: Annotated[int | None, typer.Option("--count", min=1, help="End after so many looks.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON line for each look.")] = False,
) -> None:
    """Show live what waits, runs, blocks and works.

    Ctrl-C ends it. What ends a second is that of all actions together, since
    the look before.

    \b
    Examples:
      bandmaster top
      bandmaster top --every 0.5
      bandmaster top --json --count 3 | jq .ended_a_second
    """
    if not (as_json or output().is_terminal):
        raise WrongUsage("top needs a terminal; `bandmaster status` tells once, `bandmaster top --json` a line a look")
    with at_desk() as desk:
        if desk.shards:
            top_of_shards(desk.shards, every, count, as_json=as_json)
            return
        looks = _looks(desk, every, count)
        if as_json:
            before: Look | None = None
            for look in looks:
                if isinstance(look, Look):
                    say_json(_document(look, before), line=True)
                    before = look
                else:
                    note(f"nothing was seen: {sentence_of(look)}")
            return
        with Live(console=output(), screen=True, auto_refresh=False) as live:
            seen: list[Look] = []
            for look in looks:
                problem = "" if isinstance(look, Look) else sentence_of(look)
                if isinstance(look, Look):
                    seen = [*seen[-1:], look]
                live.update(Group(*_lines(seen, problem)), refresh=True)


def _looks(desk: Desk, every_seconds: float, count: int | None) -> Iterator[Look | Exception]:
    """What is seen at each look, or why nothing was; the first has to be seen, and the last if it is counted."""
    done = 0
    while True:
        try:
            found: Look | Exception = _look(desk)
        except EXPECTED as error:
            if not done or done + 1 == count:
                raise
            found = error
        yield found
        done += 1
        if count is not None and done >= count:
            return
        time.sleep(every_seconds)


def _look(desk: Desk) -> Look:
    figures = desk.figures
    ended = sum(each.total_completed for each in figures.actions())
    return Look(figures.standing(), figures.workers(), ended, time.monotonic())


def _ended_a_second(look: Look, before: Look | None) -> float | None:
    """None: there was no look before, or fewer are counted than then, as counters were dropped."""
    if before is None or look.ended < before.ended:
        return None
    return (look.ended - before.ended) / (look.at_seconds - before.at_seconds)


def _document(look: Look, before: Look | None) -> dict[str, object]:
    return document_of(look.standing) | {
        "ended_a_second": _ended_a_second(look, before),
        "threads": sum(each.threads for each in look.workers),
        "threads_busy": sum(each.busy for each in look.workers),
        "gates": [gate_json(each) for each in look.standing.gates[:FOREMOST]],
        "workers": [
            {"worker_id": each.worker_id, "threads": each.threads, "busy": each.busy, "lanes": list(each.lanes)}
            for each in look.workers[:FOREMOST]
        ],
    }


def _lines(seen: list[Look], problem: str) -> Iterator[Any]:
    """What the screen shows, from above."""
    if problem:
        yield Text(escaped(f"as it was last seen: {problem}"), style="bold red")
    if not seen:
        return
    look, standing = seen[-1], seen[-1].standing
    now, rate = sum_of(standing), _ended_a_second(look, seen[0] if len(seen) > 1 else None)
    slots = now.settings["max_concurrent"]
    facts = [
        f"waiting {now.queue_depth}",
        f"running {now.active_count}" + ("" if slots is None else f" of {slots:.0f}"),
        f"scheduled {now.scheduled_count}",
        f"dead {now.dead_count}",
        f"threads {sum(each.busy for each in look.workers)} of {sum(each.threads for each in look.workers)} busy",
    ]
    yield Text("  ".join(facts), style="bold")
    bands = [f"{name.lower()} {count}" for name, count in now.pending_by_priority.items()]
    yield Text("  ".join([*bands, *([] if rate is None else [f"ended {rate:,.1f} a second"])]))
    for each in standing.verdicts[:SHOWN]:
        yield Text(escaped(f"{each.severity}: {each.sentence}"), style="yellow")
    if len(standing.verdicts) > SHOWN:
        yield Text(f"and {len(standing.verdicts) - SHOWN} more: `bandmaster status --json`", style="dim")
    yield from _table(
        ("LANE", "WAITING", "RUNNING", "SCHEDULED", "WORKERS", "FAIR BY"),
        (
            (
                *(each.lane, str(each.queue_depth), _of(each.active_count, each.settings["max_concurrent_executions"])),
                *(str(each.scheduled_count), "live" if load.live else "none", load.fair_by or ""),
            )
            for load, each in sorted(standing.lanes, key=lambda one: (-one[1].queue_depth, one[1].lane))
        ),
    )
    yield from _table(
        ("GATE", "WAITING", "HELD", "LIMIT", "RATE"),
        (
            (
                *(named(each.gate), str(each.waiting), "" if each.held is None else str(each.held)),
                *("paused" if each.paused else limit_of(each), _rate(each)),
            )
            for each in standing.gates
        ),
    )
    yield from _table(
        ("WORKER", "BUSY", "RUNS"),
        (
            (
                f"{each.host}:{each.pid}" if each.host else each.worker_id,
                f"{each.busy} of {each.threads}",
                "stops" if each.stopping else " ".join(one.execution_id for one in each.running),
            )
            for each in look.workers
        ),
    )


def _rate(each: GateLoad) -> str:
    return ", ".join(filter(None, [rate_of(each), opening_of(each)]))


def _of(number: int, most: float | None) -> str:
    return str(number) if most is None else f"{number} of {most:.0f}"


def _table(headings: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[Any]:
    """A table under an empty line; nothing if it has no rows."""
    if found := list(rows):
        columns = [Column(each, right=each in _RIGHT, gives=each not in _RIGHT) for each in headings]
        yield Text()
        yield table_of(columns, found[:SHOWN])
        if len(found) > SHOWN:
            yield Text(f"and {len(found) - SHOWN} more", style="dim")
