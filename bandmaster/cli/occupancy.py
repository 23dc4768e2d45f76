"""``bandmaster gates`` and ``bandmaster workers``: show the gates that block executions, and lanes with their workers.

In the flow: reads only, a thin layer around the desk.
"""

from dataclasses import asdict
from typing import Annotated, Final

import typer

from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.cli.times import show_duration, show_time
from bandmaster.scheduler.engine.shares import UNWEIGHED
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.limits import EVERYTHING
from bandmaster.scheduler.model.times import iso_of
from bandmaster.scheduler.overview import LaneLoad
from bandmaster.scheduler.workers import WorkerSigned

NO_LIMIT: Final = "none"


def gates(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List gates, the most blocked first.

    Gates and kinds with a limit, a rate, a weight or a pause, and what the
    limit or rate of its kind keeps closed: how many hold each, and how many
    wait because they found it closed. One that its rate keeps closed says when
    it opens. A lane that is paused, or everything, is listed with all that
    waits in it.

    \b
    Examples:
      bandmaster gates
      bandmaster gates --json | jq '.gates[] | select(.waiting > 100)'
    """
    with at_desk() as desk:
        found = desk.figures.gates()
    shown = found[:limit]
    if as_json:
        say_json({"gates": [gate_json(each) for each in shown], "more": len(found) - len(shown)})
        return
    if not shown:
        say("no gate has a limit, a rate, a weight or a pause")
        return
    say_table(
        [
            *(Column("GATE", folds=True), Column("WAITING", right=True), Column("HELD", right=True)),
            *(Column("LIMIT", right=True), Column("RATE", drops=True), Column("", drops=True)),
        ],
        [
            (
                *(named(each.gate), str(each.waiting), "" if each.held is None else str(each.held)),
                # A narrow terminal drops the notes, but a pause has to be visible nevertheless.
                *("paused" if each.paused else limit_of(each), rate_of(each), note_of(each)),
            )
            for each in shown
        ],
    )
    if len(found) > len(shown):
        note(f"there are {len(found) - len(shown)} more; see --limit")


def workers(as_json: Json = False) -> None:
    """List lanes with when a worker last asked for each, and worker processes.

    Every worker that lives asks for its lanes each second, or is woken, and
    tells every two seconds how many of its threads work, and on what. One that
    was killed is gone within eight seconds.

    \b
    Examples:
      bandmaster workers
      bandmaster workers --json | jq '.lanes[] | select(.live | not)'
      bandmaster workers --json | jq '.workers[] | {host, pid, busy, threads}'
    """
    with at_desk() as desk:
        lanes, alive = desk.figures.lanes(), desk.figures.workers()
    if as_json:
        say_json({"lanes": [lane_json(each) for each in lanes], "workers": [_worker_json(each) for each in alive]})
        return
    if lanes:
        say_table(
            [
                *(Column("LANE", folds=True), Column("WORKERS"), Column("ASKED")),
                *(Column("EXECUTIONS", right=True), Column("FAIR BY", drops=True)),
            ],
            [
                (each.lane, "live" if each.live else "none", _asked(each), str(each.size), each.fair_by or "")
                for each in lanes
            ],
        )
    else:
        say("no worker has asked for anything yet, and nothing waits")
    if alive:
        say()
        say_table(
            [
                *(
                    Column("PROCESS", folds=True),
                    Column("BUSY", right=True),
                    Column("SINCE"),
                    Column("RELEASE", drops=True),
                ),
                *(Column("LANES", drops=True), Column("RUNS", gives=True)),
            ],
            [_worker_row(each) for each in alive],
        )


def gate_json(each: GateLoad) -> dict[str, object]:
    """A gate as a JSON object."""
    return limit_json(each) | {"waiting": each.waiting, "paused": each.paused, "weight": each.weight} | rate_json(each)


def rate_json(each: GateLoad) -> dict[str, object]:
    """A gate's rate, and when that opens it, as members of a JSON object."""
    return {
        "rate": None if each.rate is None else str(each.rate.rate),
        "rated_by": each.rate and each.rate.name,
        "rate_declared": each.rate is not None and each.rate.is_declared,
        "opens_in_ms": each.opens_in_ms,
    }


def limit_json(each: GateLoad) -> dict[str, object]:
    """A limit as a JSON object."""
    return {
        "gate": each.gate,
        "limit": each.limit,
        "held": each.held,
        "limited_by": each.limited_by,
        "declared": each.declared,
        "auto": None if each.auto is None else str(each.auto),
    }


def note_of(each: GateLoad) -> str:
    """The note on a gate: when its rate opens it, its limit if the pause hides it, where both come from, its weight."""
    hidden = f"limit {each.limit}" if each.paused and each.limit is not None else ""
    source = f"by {each.limited_by}" if each.limited_by not in (None, each.gate) else ""
    of_rate = ""
    if each.rate is not None and (each.rate.name != each.gate or each.rate.is_declared):
        from_kind = f" by {each.rate.name}" if each.rate.name != each.gate else ""
        of_rate = f"rate{from_kind}{' declared' if each.rate.is_declared else ''}"
    weight = "" if each.weight == UNWEIGHED else f"weight {each.weight}"
    declared = "declared" if each.declared else ""
    return ", ".join(filter(None, [opening_of(each), hidden, source, declared, of_rate, weight]))


def opening_of(each: GateLoad) -> str:
    """When its rate opens a gate, as text; empty: it keeps nothing back."""
    return "" if each.opens_in_ms is None else f"opens in {show_duration(each.opens_in_ms)}"


def rate_of(each: GateLoad) -> str:
    """A rate as text."""
    return "" if each.rate is None else str(each.rate.rate)


def limit_of(each: GateLoad) -> str:
    """A limit as text."""
    if each.auto is not None:
        return f"{each.auto}, now {each.limit}"
    return NO_LIMIT if each.limit is None else str(each.limit)


def named(name: str) -> str:
    """The name of a gate or lane as text."""
    return "everything" if name == EVERYTHING else name


def lane_json(each: LaneLoad) -> dict[str, object]:
    """A lane as a JSON object."""
    return {
        "lane": each.lane,
        "live": each.live,
        "asked_ms_ago": each.asked_ms_ago,
        "executions": each.size,
        "fair_by": each.fair_by,
    }


def _asked(each: LaneLoad) -> str:
    return "never" if each.asked_ms_ago is None else f"{show_duration(each.asked_ms_ago)} ago"


def _worker_json(each: WorkerSigned) -> dict[str, object]:
    fields: dict[str, object] = asdict(each)
    return fields | {"since": iso_of(each.since_ms), "host": each.host or None, "pid": each.pid or None}


def _worker_row(each: WorkerSigned) -> tuple[str, ...]:
    place = f"{each.host}:{each.pid}" if each.host else each.worker_id
    runs = " ".join(one.execution_id for one in each.running)
    busy = f"{each.busy} of {each.threads}"
    return place, busy, show_time(each.since_ms), each.release, " ".join(each.lanes), "stops" if each.stopping else runs
