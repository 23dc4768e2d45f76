"""``bandmaster schedule pause``, ``resume``, ``run-now`` and ``remove``.

In the flow: a thin layer around the desk. Each may be repeated without harm; a repeated `run-now` runs once more,
unless it has the same ``--key``.
"""

from typing import Annotated
from uuid import uuid4

import typer

from bandmaster.cli.desk.opening import at_desk
from bandmaster.cli.notes import note
from bandmaster.cli.schedules import Name
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.scheduler.events.schedule_fields import check_schedule_name
from bandmaster.scheduler.model.errors import DuplicateExecution


def pause_schedule(name: Name, as_json: Json = False) -> None:
    """Let nothing of a schedule start until it is resumed; what runs goes on.

    \b
    Examples:
      bandmaster schedule pause nightly
    """
    check_schedule_name(name)
    with at_desk() as desk:
        changed = desk.schedules.pause(name)
    _say(name, "paused" if changed else "was paused already", {"paused": True, "changed": changed}, as_json=as_json)


def resume_schedule(name: Name, as_json: Json = False) -> None:
    """End the pause of a schedule; what was due meanwhile is not made up for.

    \b
    Examples:
      bandmaster schedule resume nightly
    """
    check_schedule_name(name)
    with at_desk() as desk:
        changed = desk.schedules.resume(name)
    _say(name, "resumed" if changed else "was not paused", {"paused": False, "changed": changed}, as_json=as_json)


def run_schedule(
    name: Name,
    key: Annotated[
        str | None, typer.Option(help="Names this run: the same command again with it runs no second time.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a schedule once now, beside its own times, though it is paused.

    \b
    Examples:
      bandmaster schedule run-now nightly
      bandmaster schedule run-now nightly --key ticket-4711
    """
    check_schedule_name(name)
    with at_desk() as desk:
        try:
            execution_id = desk.schedules.run_now(name, key or uuid4().hex).execution_id
        except DuplicateExecution as known:
            execution_id = known.execution_id or ""
    _say(name, f"runs as {execution_id}", {"execution_id": execution_id}, as_json=as_json)


def remove_schedule(name: Name, as_json: Json = False) -> None:
    """Remove a schedule; what runs goes on.

    \b
    Examples:
      bandmaster schedule remove nightly
    """
    check_schedule_name(name)
    with at_desk() as desk:
        declared = desk.schedules.remove(name)
    _say(name, "removed", {"removed": True, "declared": declared}, as_json=as_json)
    if declared:
        note(f"an application declares {name}: it comes back when a worker starts. Change the code, or pause it")


def _say(name: str, what: str, told: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        say_json({"schedule": name, **told})
    else:
        say(f"{name} {what}")
