"""``bandmaster schedule add``: has a command or an actor run again and again, by a line of cron.

In the flow: everything is checked first, then sent. If the command dies in between, the schedule was added or it was
not; the same command again with ``--replace`` makes sure.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from zoneinfo import ZoneInfo, available_timezones

import typer

from bandmaster.cli.completing import complete_action, complete_gate, complete_lane, complete_priority, complete_user
from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.notes import note
from bandmaster.cli.schedules import say_schedule
from bandmaster.cli.screen import Json
from bandmaster.cli.times import read_duration, read_when
from bandmaster.k8s.runnable import check_runnable
from bandmaster.scheduler.events.schedule import Schedule, occurrence_id
from bandmaster.scheduler.events.schedule_fields import Missed, Overlap
from bandmaster.scheduler.model.errors import shown
from bandmaster.scheduler.model.priority import Priority


def add_schedule(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME [-- COMMAND]", help="The schedule's name.")],
    cron: Annotated[str, typer.Option(metavar="LINE", help="minute hour day month weekday, like '30 6 * * MON-FRI'.")],
    tz: Annotated[str, typer.Option(metavar="ZONE", help="The line's time zone, like Europe/Berlin.")] = "UTC",
    actor: Annotated[str | None, typer.Option(metavar="NAME", help="The actor to send, in place of a command.")] = None,
    args: Annotated[str | None, typer.Option(metavar="JSON", help="The actor's arguments: a JSON list.")] = None,
    kwargs: Annotated[str | None, typer.Option(metavar="JSON", help="Those by name: a JSON object.")] = None,
    lane: Annotated[
        str | None, typer.Option(metavar="QUEUE", help="The actor's queue.", autocompletion=complete_lane)
    ] = None,
    priority: Annotated[
        str,
        typer.Option(
            *("--priority", "-p"),
            metavar="NAME",
            help="critical, high, normal, low or background.",
            autocompletion=complete_priority,
        ),
    ] = "normal",
    action: Annotated[
        str | None,
        typer.Option(help="Whose limit, pause and statistics it counts for.", autocompletion=complete_action),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", "-u", help="Whose limit it counts against.", autocompletion=complete_user)
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A gate to pass besides; may be repeated.", autocompletion=complete_gate),
    ] = None,
    missed: Annotated[Missed, typer.Option(help="What to do with those that were due in an outage.")] = Missed.SKIP,
    missed_limit: Annotated[int, typer.Option(min=1, max=100, help="With --missed all: at most so many.")] = 10,
    overlap: Annotated[
        Overlap, typer.Option(help="Whether to run one while an earlier one waits or runs.")
    ] = Overlap.ALLOW,
    jitter: Annotated[str, typer.Option(metavar="DURATION", help="Put each off by up to this: 30s, 5m.")] = "0",
    start: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="None before: ISO 8601, by the line's zone, or +1d."),
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="None after.")] = None,
    timeout: Annotated[str | None, typer.Option(metavar="DURATION", help="A command that runs longer ends.")] = None,
    image: Annotated[str | None, typer.Option(help="The command's container image, on a cluster.")] = None,
    cpu: Annotated[str | None, typer.Option(metavar="CORES", help="The command's CPU limit, like 500m.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="BYTES", help="Its memory limit, like 256Mi.")] = None,
    paused: Annotated[bool, typer.Option("--paused", help="Add it paused.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the schedule of this name.")] = False,
    as_json: Json = False,
) -> None:
    """Run a command or an actor again and again.

    Sunday is 0 and 7. A time that the change of clocks leaves out runs at the
    moment after it, and one that comes twice runs once.

    An actor's gates and priority are what is typed here, not what its code says;
    in code, use @actor(schedule=...).

    \b
    Examples:
      bandmaster schedule add report --cron '30 6 * * MON-FRI' \\
        --tz Europe/Berlin -- python report.py
      bandmaster schedule add tidy --cron '*/5 * * * *' --actor tidy_up \\
        --lane mails --args '["inbox"]' --overlap skip
    """
    command: list[str] | None = context.obj
    fields: dict[str, Any] = {
        "name": name,
        "cron": cron,
        "tz": tz,
        "actor": actor,
        "command": command,
        "lane": lane,
        "priority": Priority.parse(int(priority) if priority.isdecimal() else priority),
        "action": action,
        "user_id": user,
        "gates": tuple(gate or ()),
        "missed": missed.value,
        "missed_limit": missed_limit,
        "overlap": overlap.value,
        "jitter_ms": read_duration(jitter, "--jitter") * 1000,
        "start": _moment(start, "--start", tz),
        "end": _moment(end, "--end", tz),
        "timeout_seconds": None if timeout is None else read_duration(timeout, "--timeout"),
        "image": image,
        "cpu_limit": cpu,
        "memory_limit": memory,
    }
    for option, text in (("args", args), ("kwargs", kwargs)):
        if text is not None:
            fields[option] = _json(text, f"--{option}")
    schedule = Schedule.of(fields)
    if schedule.command is not None:
        check_runnable(schedule.event(occurrence_id(name, 0), None))
    with at_desk() as desk:
        added = desk.schedules.put(schedule, paused=paused, only_new=not replace)
        say_schedule(added, as_json=as_json)
        if (missing := desk.figures.missing_worker(schedule.lane_used)) is not None:
            note(missing)


def _moment(text: str | None, option: str, tz: str) -> datetime | None:
    if text is None:
        return None
    zone = ZoneInfo(tz) if tz in available_timezones() else None  # what is wrong with another, the schedule says
    when = read_when(text, option, zone)
    return datetime.now(UTC) + when if isinstance(when, timedelta) else when


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise WrongUsage(f"{option}: {shown(text)} is no JSON; allowed: like '[\"inbox\", 3]'") from None
