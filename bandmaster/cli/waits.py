"""``bandmaster waits``: what executions waited for, summed by action, user or gate.

In the flow: a thin layer around the desk, which reads the sums that the ledger keeps.
"""

from dataclasses import asdict
from typing import Annotated, Final

import typer

from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.desk.told import SumPart, WaitSum, WaitSums
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_json, say_table
from bandmaster.cli.times import read_duration, show_duration
from bandmaster.ledger.waits.attributing import Cause
from bandmaster.ledger.waits.summed_by import By

_TOLD: Final = 4
"""So many parts are told of each, the longest."""
_EVERYTHING: Final = "*"


def waits(
    by: Annotated[By, typer.Option("--by", help="Sum by action, user, or gate that was waited behind.")] = By.ACTION,
    since: Annotated[
        str, typer.Option("--since", metavar="DURATION", help="Waits that ended so long ago or later, in whole hours.")
    ] = "24h",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=LISTED_AT_MOST, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """Sum what executions waited for, the longest first.

    Each wait counts in the hour in which it ended. The ledger keeps the sums.

    \b
    Examples:
      bandmaster waits
      bandmaster waits --by gate --since 7d
      bandmaster waits --by user --json
    """
    ago_ms = 1000 * read_duration(since, "--since")
    with at_desk() as desk:
        found = desk.figures.waited(by.value, max(0, desk.executions.now_ms() - ago_ms))
    if as_json:
        say_json(asdict(found) | {"sums": [asdict(each) for each in found.sums[:limit]]})
        return
    if not found.waits:
        say("no wait has ended")
        return
    columns = [Column("WAITED", right=True), Column("WAITS", right=True), Column("FOR", folds=True)]
    say_table([Column(by.name, folds=True), *columns], [row_of(each) for each in found.sums[:limit]])
    if len(found.sums) > limit:
        note(f"there are {len(found.sums) - limit} more; see --limit")
    for sentence in coverage_of(found):
        note(sentence)


def row_of(each: WaitSum) -> tuple[str, ...]:
    """Whose they are, how long they waited, how many waits that were, and for what."""
    told = "; ".join(f"{show_duration(part.ms)} {_why(part)}" for part in each.parts[:_TOLD])
    if rest_ms := sum(part.ms for part in each.parts[_TOLD:]):
        told += f"; {show_duration(rest_ms)} for other causes"
    return ("(others)" if each.name is None else each.name, show_duration(each.ms), str(each.waits), told)


def _why(part: SumPart) -> str:
    match part.cause:
        case Cause.DELAY:
            return "until due"
        case Cause.PAUSE:
            paused = "everything" if part.behind == _EVERYTHING else part.behind
            return "paused" if paused is None else f"while {paused} was paused"
        case Cause.RATE:
            return "for the rate of a gate" if part.behind is None else f"for the rate of {part.behind}"
        case Cause.GATE:
            return "for a full gate" if part.behind is None else f"behind {part.behind}"
        case Cause.LANE:
            return "for a slot of a lane" if part.behind is None else f"for a slot of {part.behind}"
        case Cause.EVERYTHING:
            return "for a slot of any lane"
        case Cause.THREAD:
            return "for a thread"


def coverage_of(found: WaitSums) -> list[str]:
    """Sentences about how much of the waits the sums tell; none, if it is all."""
    told: list[str] = []
    if found.summed < found.waits:
        share = 100 * found.summed / found.waits
        told.append(f"the sums are those of {found.summed} of {found.waits} waits ({share:.1f} %)")
    if found.incomplete:
        told.append(f"too little is known of {found.incomplete} of them")
    if found.sampled:
        told.append(f"{found.sampled} waits were estimated from a sample")
    return told
