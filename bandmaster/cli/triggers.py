"""``bandmaster trigger``: lists, makes, changes and deletes triggers, straight in the ledger's database.

In the flow: as `queue`, it needs no Redis; each change is in the audit under the user's name and host. The ledger's
process fires them.
"""

import shlex
from typing import Annotated, Any

import typer

from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Column, say, say_json, say_table
from bandmaster.configs.extras import import_extra
from bandmaster.items.bounds import BATCH_MAX, MOST_JOBS, POLLING_MAX_SECONDS
from bandmaster.items.names import check_queue_name, check_trigger_name
from bandmaster.scheduler.events.fields import TIMEOUT_MAX_SECONDS
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.operators import user_at_host
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.times import iso_of

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Named = Annotated[str, typer.Argument(metavar="TRIGGER", help="Its name.")]
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
    """List, make, change or delete triggers, which start executions for items or at times.

    \b
    Examples:
      bandmaster trigger
      bandmaster trigger create book --queue invoices --command 'python3 -m book'
      bandmaster trigger create tidy --cron '30 6 * * *' --tz Europe/Berlin --command tidy
    """
    if context.invoked_subcommand is None:
        list_triggers(as_json)


def list_triggers(as_json: Json = False) -> None:
    """List triggers.

    \b
    Example:
      bandmaster trigger list --json
    """
    found = opened_items().triggers.all()
    if as_json:
        say_json({"triggers": [_document(each) for each in found]})
    elif found:
        columns = [Column("TRIGGER", folds=True), Column("TYPE"), Column("LIVE", right=True), Column("NEXT")]
        columns += [Column("STATE", folds=True)]
        rows = [
            (
                each.name,
                each.type,
                f"{each.live_jobs} of {each.max_jobs}",
                iso_of(each.next_fire_ms) or "-",
                _state(each),
            )
            for each in found
        ]
        say_table(columns, rows)
    else:
        say("there are no triggers: `bandmaster trigger create NAME` makes one")


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
    items = opened_items(upgrades=True)
    kind = import_extra("bandmaster.items.trigger", "api").TriggerType
    given = _given(items, queue, cron, tz, batch, max_jobs, every, image, action, user, priority, timeout)
    made = items.triggers.create(
        check_trigger_name(name),
        type=kind.QUEUE if cron is None else kind.TIME,
        command=_split(command),
        by=user_at_host(),
        enabled=not disabled,
        notify_url=notify or None,
        **given,
    )
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
    items = opened_items()
    given = _given(items, queue, cron, tz, batch, max_jobs, every, image, action, user, priority, timeout)
    if command is not None:
        given["command"] = _split(command)
    if enabled is not None:
        given["enabled"] = enabled
    if notify is not None:
        given["notify_url"] = notify or None
    _tell(items.triggers.change(check_trigger_name(name), given, by=user_at_host(), revision=None), as_json)


def delete_trigger(name: Named, as_json: Json = False) -> None:
    """Delete a trigger; what it started goes on.

    \b
    Example:
      bandmaster trigger delete book
    """
    found = opened_items().triggers.delete(check_trigger_name(name), by=user_at_host())
    if as_json:
        say_json({"name": name, "live_jobs": found.live_jobs})
    else:
        say(f"{name} deleted; {found.live_jobs:,} of its executions go on")


def _given(
    items: Any,
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
        "queue_id": None if queue is None else items.queues.find(check_queue_name(queue)).queue_id,
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


def _band(name: str) -> Priority:
    if name.upper() in Priority.__members__:
        return Priority[name.upper()]
    raise InvalidRequest("priority", f"{name!r} is none", allowed=", ".join(Priority.__members__))


def _split(line: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(line))
    except ValueError as error:
        raise InvalidRequest(
            "command", f"it cannot be split: {error}", allowed="words, as a shell takes them"
        ) from None


def _state(trigger: Any) -> str:
    if not trigger.enabled:
        return "disabled"
    if trigger.failures:
        return f"failed {trigger.failures} times, again at {iso_of(trigger.backoff_ms)}: {trigger.last_error}"
    return "enabled"


def _document(trigger: Any) -> dict[str, object]:
    answer = import_extra("bandmaster.admin.api.trigger_requests", "api").trigger_answer(trigger, tells_all=True)
    return answer.model_dump()


def _tell(trigger: Any, as_json: bool) -> None:
    if as_json:
        say_json({"trigger": _document(trigger)})
    else:
        say(f"{trigger.name} is {_state(trigger)}; it fires next at {iso_of(trigger.next_fire_ms) or '-'}")
