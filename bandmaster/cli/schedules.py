"""``bandmaster schedule list``, ``show`` and ``next``: what is run again and again, and when.

In the flow: a thin layer around the desk; reads only.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from bandmaster.cli.completing import complete_schedule
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.notes import note
from bandmaster.cli.screen import LISTED_AT_MOST, Column, Json, say, say_facts, say_json, say_table
from bandmaster.scheduler.events.schedule_fields import check_schedule_name
from bandmaster.scheduler.model.times import iso_of

if TYPE_CHECKING:
    from bandmaster.admin.answers.schedules import ScheduleAnswer

A_PAGE: Final = 200
MOST_TIMES: Final = 100
Name = Annotated[str, typer.Argument(metavar="NAME", help="A schedule.", autocompletion=complete_schedule)]


def schedules() -> None:
    """Run commands and actors again and again, by lines of cron.

    \b
    Examples:
      bandmaster schedule add nightly --cron '0 3 * * *' -- make backup
      bandmaster schedule list
    """


def list_schedules(
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=LISTED_AT_MOST, help="List at most so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List schedules, by name.

    \b
    Examples:
      bandmaster schedule list
      bandmaster schedule list --json
    """
    found: list[ScheduleAnswer] = []
    with at_desk() as desk:
        more = True
        while more and len(found) <= lines:
            page = desk.schedules.page(found[-1].name if found else "", min(A_PAGE, lines + 1 - len(found)))
            found += page
            more = bool(page)
    if as_json:
        say_json({"schedules": [document_of(each) for each in found[:lines]]})
    elif found:
        columns = [
            *(Column("SCHEDULE", folds=True), Column("CRON"), Column("ZONE", gives=True), Column("WHAT", gives=True)),
            *(Column("NEXT", folds=True), Column("", gives=True, drops=True)),
        ]
        say_table(columns, [_row(each) for each in found[:lines]])
    else:
        say("there is no schedule")
    if len(found) > lines:
        note("there are more; see --lines")


def show_schedule(name: Name, as_json: Json = False) -> None:
    """Show a schedule.

    \b
    Examples:
      bandmaster schedule show nightly
    """
    check_schedule_name(name)
    with at_desk() as desk:
        say_schedule(desk.schedules.one(name), as_json=as_json)


def show_next(
    name: Name,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=MOST_TIMES, help="How many times.")] = 5,
    as_json: Json = False,
) -> None:
    """Show when a schedule is due next, in its zone.

    Jitter comes on top. What a pause or the end keeps from running is not due.

    \b
    Examples:
      bandmaster schedule next nightly
      bandmaster schedule next nightly -n 20 --json
    """
    check_schedule_name(name)
    with at_desk() as desk:
        told = desk.schedules.next(name, count)
    if as_json:
        times = [{"at": iso_of(each), "local": _local(each, told.tz).isoformat()} for each in told.times_ms]
        say_json({"schedule": name, "tz": told.tz, "paused": told.paused, "times": times})
        return
    for each in told.times_ms:
        say(shown_in(each, told.tz))
    if not told.times_ms:
        say("it has ended: there is no further time")
    if told.paused:
        note(f"{name} is paused: nothing runs until `bandmaster schedule resume {name}`")


def say_schedule(schedule: "ScheduleAnswer", *, as_json: bool) -> None:
    """Print one schedule."""
    if as_json:
        say_json(document_of(schedule))
        return
    next_ms = _ms(schedule.next_at)
    say_facts(
        [
            ("schedule", schedule.name),
            ("cron", f"{schedule.cron} ({schedule.tz})"),
            ("runs", what_of(schedule)),
            ("lane", schedule.lane),
            ("priority", schedule.priority),
            ("action", schedule.action),
            ("user", schedule.user_id),
            ("gates", schedule.gates or None),
            ("missed", f"all, up to {schedule.missed_limit}" if schedule.missed == "all" else schedule.missed),
            ("overlap", schedule.overlap),
            ("jitter", f"up to {schedule.jitter_ms} ms" if schedule.jitter_ms else None),
            ("start", schedule.start_at),
            ("end", schedule.end_at),
            ("next", None if next_ms is None else shown_in(next_ms, schedule.tz)),
            ("last run", schedule.last_run),
            ("left out", schedule.skipped or None),
            ("state", state_of(schedule) or "active"),
        ]
    )


def document_of(schedule: "ScheduleAnswer") -> dict[str, Any]:
    """A schedule as JSON: as the API has it."""
    return schedule.model_dump()


def what_of(schedule: "ScheduleAnswer") -> str:
    """What a schedule runs, in a few words."""
    if schedule.actor is not None:
        return f"actor {schedule.actor}"
    return "a command" if schedule.command is None else " ".join(schedule.command)


def state_of(schedule: "ScheduleAnswer") -> str:
    """What somebody should know of it; empty for nothing."""
    told = {
        "ended": "has ended",
        "not_readable": "cannot be read: another release wrote it, or it is damaged",
        "queue_full": "refused: its lane is full",
        "user_limit": "refused: its user has too many waiting",
    }
    problem = "" if schedule.problem is None else told.get(schedule.problem, schedule.problem)
    return ", ".join(
        filter(None, ["paused" if schedule.paused else "", problem, "declared" if schedule.declared else ""])
    )


def shown_in(unix_ms: int, tz: str) -> str:
    """A time for people, in a zone, with its name and its distance from UTC."""
    return _local(unix_ms, tz).strftime("%a %Y-%m-%d %H:%M:%S %Z (UTC%z)")


def _local(unix_ms: int, tz: str) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).astimezone(ZoneInfo(tz))


def _ms(moment: str | None) -> int | None:
    return None if moment is None else round(datetime.fromisoformat(moment).timestamp() * 1000)


def _row(schedule: "ScheduleAnswer") -> tuple[str, ...]:
    next_ms = _ms(schedule.next_at)
    due = "" if next_ms is None else _local(next_ms, schedule.tz).strftime("%Y-%m-%d %H:%M:%S %Z")
    return schedule.name, schedule.cron, schedule.tz, what_of(schedule), due, state_of(schedule)
