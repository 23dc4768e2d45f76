"""``bandmaster trigger create``, ``change`` and ``delete``, beside the ledger's database or through the API.

In the flow: as `queue`, it needs no Redis; each change is in the audit. The ledger's process fires them;
`trigger_listing` shows them.
"""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.desk.item_port import ItemDesk
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.option_names import OF_TRIGGER, as_options
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.trigger_listing import Named, list_triggers, state_of
from bandmaster.items.bounds import BATCH_MAX, MOST_JOBS, POLLING_MAX_SECONDS
from bandmaster.items.names import check_queue_name, check_trigger_name
from bandmaster.scheduler.events.fields import TIMEOUT_MAX_SECONDS
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority

if TYPE_CHECKING:
    from bandmaster.admin.answers.triggers import TriggerAnswer

OfQueue = Annotated[str | None, typer.Option("--queue", metavar="QUEUE", help="For the items of this queue.")]
Line = Annotated[str | None, typer.Option("--cron", metavar="LINE", help="At these times: five fields of cron.")]
Zone = Annotated[str | None, typer.Option("--tz", metavar="ZONE", help="The line's time zone.")]
Runs = Annotated[str | None, typer.Option("--command", metavar="LINE", help="What it runs, as a shell splits it.")]
Batch = Annotated[int | None, typer.Option("--batch", metavar="N", min=1, max=BATCH_MAX, help="Items an execution.")]
Jobs = Annotated[int | None, typer.Option("--max-jobs", metavar="N", min=1, max=MOST_JOBS, help="Executions at once.")]
Every = Annotated[
    int | None, typer.Option("--every", metavar="SECONDS", min=1, max=POLLING_MAX_SECONDS, help="It looks again.")
]
Image = Annotated[str | None, typer.Option("--image", metavar="IMAGE", help="Of its pods.")]
Action = Annotated[str | None, typer.Option("--action", metavar="NAME", help="The action that they count as.")]
User = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Against whose limit they count.")]
Band = Annotated[str | None, typer.Option("--priority", metavar="NAME", help="The band of its executions.")]
Address = Annotated[
    str | None, typer.Option("--notify", metavar="URL", help="Who is told when it begins to fail; '': nobody.")
]
Timeout = Annotated[
    int | None, typer.Option("--timeout", metavar="SECONDS", min=1, max=TIMEOUT_MAX_SECONDS, help="For one execution.")
]


def show_triggers(context: typer.Context, as_json: Json = False) -> None:
    """List, show, make, change or delete triggers, which start executions for items or at times.

    \b
    Examples:
      bandmaster trigger
      bandmaster trigger create book --queue invoices --command 'python3 -m book'
      bandmaster trigger create tidy --cron '30 6 * * *' --tz Europe/Berlin --command tidy
    """
    if context.invoked_subcommand is None:
        list_triggers(as_json)


def create_trigger(
    name: Named,
    command: Annotated[str, typer.Option("--command", metavar="LINE", help="What it runs, as a shell splits it.")],
    queue: OfQueue = None,
    cron: Line = None,
    tz: Zone = None,
    batch: Batch = None,
    max_jobs: Jobs = None,
    every: Every = None,
    image: Image = None,
    action: Action = None,
    user: User = None,
    priority: Band = None,
    timeout: Timeout = None,
    notify: Address = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="It starts nothing until it is enabled.")] = False,
    as_json: Json = False,
) -> None:
    """Make a trigger.

    \b
    Examples:
      bandmaster trigger create book --queue invoices --batch 10 --command 'python3 -m book'
      bandmaster trigger create tidy --cron '30 6 * * *' --command tidy
    """
    _check_type(queue, cron, {"--tz": tz}, {"--batch": batch, "--every": every})
    with as_options(OF_TRIGGER), at_items(upgrades=True) as desk:
        given = _given(desk, queue, cron, tz, batch, max_jobs, every, image, action, user, priority, timeout)
        given |= {"command": _split(command), "enabled": not disabled, "notify_url": notify or None}
        made = desk.triggers.create(check_trigger_name(name), "QUEUE" if cron is None else "TIME", given)
    _tell(made, as_json)


def change_trigger(
    name: Named,
    command: Runs = None,
    queue: OfQueue = None,
    cron: Line = None,
    tz: Zone = None,
    batch: Batch = None,
    max_jobs: Jobs = None,
    every: Every = None,
    image: Image = None,
    action: Action = None,
    user: User = None,
    priority: Band = None,
    timeout: Timeout = None,
    notify: Address = None,
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether it starts anything.")] = None,
    as_json: Json = False,
) -> None:
    """Change a trigger; what is not given stays, and one that backs off is tried at once.

    \b
    Example:
      bandmaster trigger change book --max-jobs 4
    """
    with as_options(OF_TRIGGER), at_items() as desk:
        given = _given(desk, queue, cron, tz, batch, max_jobs, every, image, action, user, priority, timeout)
        if command is not None:
            given["command"] = _split(command)
        if enabled is not None:
            given["enabled"] = enabled
        if notify is not None:
            given["notify_url"] = notify or None
        changed = desk.triggers.change(check_trigger_name(name), given)
    _tell(changed, as_json)


def delete_trigger(name: Named, as_json: Json = False) -> None:
    """Delete a trigger; what it started goes on.

    \b
    Example:
      bandmaster trigger delete book
    """
    with at_items() as desk:
        found = desk.triggers.delete(check_trigger_name(name))
    if as_json:
        say_json({"name": name, "live_jobs": found.live_jobs})
    else:
        say(f"{name} deleted; {found.live_jobs:,} of its executions go on")


def _check_type(
    queue: str | None, cron: str | None, of_time: dict[str, object | None], of_queue: dict[str, object | None]
) -> None:
    """Refuse options that do not fit together, before anything is asked."""
    if (queue is None) == (cron is None):
        raise WrongUsage("--queue and --cron: give one of them; it fires for items of a queue, or at times")
    other, chosen, fits = ("--queue", "--cron", of_queue) if queue is None else ("--cron", "--queue", of_time)
    for option, value in fits.items():
        if value is not None:
            raise WrongUsage(f"{option}: it goes with {other}, and not with {chosen}")


def _given(
    desk: ItemDesk,
    queue: str | None,
    cron: str | None,
    tz: str | None,
    batch: int | None,
    max_jobs: int | None,
    every: int | None,
    image: str | None,
    action: str | None,
    user: str | None,
    priority: str | None,
    timeout: int | None,
) -> dict[str, Any]:
    fields = {
        "queue_id": None if queue is None else desk.queues.one(check_queue_name(queue)).id,
        "cron": cron,
        "tz": tz,
        "batch_size": batch,
        "max_jobs": max_jobs,
        "polling_interval": every,
        "image": image,
        "action": action,
        "user_id": user,
        "timeout_seconds": timeout,
        "priority": None if priority is None else _band(priority),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _band(name: str) -> str:
    if name.upper() in Priority.__members__:
        return name.upper()
    raise InvalidRequest("priority", f"{name!r} is none", allowed=", ".join(Priority.__members__))


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InvalidRequest(
            "command", f"it cannot be split: {error}", allowed="words, as a shell takes them"
        ) from None


def _tell(trigger: "TriggerAnswer", as_json: bool) -> None:
    if as_json:
        say_json({"trigger": trigger.model_dump()})
    else:
        next_at = trigger.next_fire_at
        fires = "it does not fire" if next_at is None else f"it fires next at {next_at}"
        say(f"{trigger.name} is {state_of(trigger)}; {fires}")
