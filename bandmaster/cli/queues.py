"""``bandmaster queue``: lists, makes, changes and deletes queues of items, straight in the ledger's database.

In the flow: as `token`, it needs no Redis; each change is in the audit under the user's name and host. Their items have
`bandmaster item`. Robots take items through the API.
"""

from typing import Annotated, Any

import typer

from bandmaster.cli.opening import settings_of_command
from bandmaster.cli.option_names import OF_QUEUE, as_options
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.selecting import Yes, confirm
from bandmaster.configs.extras import import_extra
from bandmaster.items.bounds import LEASE_MAX_SECONDS, LEASE_SECONDS, RETRIES_MAX, RETRY_MAX_SECONDS, RETRY_SECONDS
from bandmaster.items.names import check_queue_name
from bandmaster.scheduler.model.operators import user_at_host

Named = Annotated[str, typer.Argument(metavar="QUEUE", help="Its name.")]
Retries = Annotated[int | None, typer.Option(metavar="N", min=0, max=RETRIES_MAX, help="Tries after a failed one.")]
Lease = Annotated[
    int | None, typer.Option(metavar="SECONDS", min=1, max=LEASE_MAX_SECONDS, help="How long a robot holds one.")
]
Pause = Annotated[
    int | None, typer.Option(metavar="SECONDS", min=0, max=RETRY_MAX_SECONDS, help="Before the first retry.")
]

Address = Annotated[
    str | None, typer.Option("--notify", metavar="URL", help="Who is told of items that failed for good; '': nobody.")
]


def list_queues(context: typer.Context, as_json: Json = False) -> None:
    """List, make, change or delete queues of items.

    \b
    Examples:
      bandmaster queue
      bandmaster queue create invoices --max-retries 2
      bandmaster queue stats invoices
    """
    if context.invoked_subcommand is not None:
        return
    queues = opened_items().queues.all()
    if as_json:
        say_json({"queues": [_document(each) for each in queues]})
    elif queues:
        columns = [Column("QUEUE", folds=True), Column("RETRIES", right=True), Column("LEASE"), Column("STATE")]
        rows = [
            (each.name, str(each.max_retries), f"{each.lease_seconds} s", "active" if each.is_active else "inactive")
            for each in queues
        ]
        say_table(columns, rows)
    else:
        say("there are no queues: `bandmaster queue create NAME` makes one")


def create_queue(
    name: Named,
    max_retries: Retries = 0,
    lease: Lease = LEASE_SECONDS,
    retry: Pause = RETRY_SECONDS,
    unique: Annotated[bool, typer.Option("--unique", help="Each reference once.")] = False,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")] = None,
    notify: Address = None,
    as_json: Json = False,
) -> None:
    """Make a queue of items.

    \b
    Example:
      bandmaster queue create invoices --max-retries 2 --unique
    """
    queues = opened_items(upgrades=True).queues
    with as_options(OF_QUEUE):
        made = queues.create(
            check_queue_name(name),
            by=user_at_host(),
            description=description,
            max_retries=max_retries,
            enforce_unique_reference=unique,
            is_active=True,
            lease_seconds=lease,
            retry_seconds=retry,
            notify_url=notify or None,
        )
    _tell(made, as_json)


def change_queue(
    name: Named,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Whether it takes and gives.")] = None,
    max_retries: Retries = None,
    lease: Lease = None,
    retry: Pause = None,
    notify: Address = None,
    as_json: Json = False,
) -> None:
    """Change a queue of items; what is not given stays.

    \b
    Example:
      bandmaster queue change invoices --inactive
      bandmaster queue change invoices --notify https://hooks.example/bandmaster
    """
    given: dict[str, object] = {
        "is_active": active,
        "max_retries": max_retries,
        "lease_seconds": lease,
        "retry_seconds": retry,
    }
    changed = {field: value for field, value in given.items() if value is not None}
    if notify is not None:
        changed["notify_url"] = notify or None
    queues = opened_items().queues
    with as_options(OF_QUEUE):
        after = queues.change(check_queue_name(name), changed, by=user_at_host(), revision=None)
    _tell(after, as_json)


def delete_queue(
    name: Named,
    force: Annotated[bool, typer.Option("--force", help="With its items, so that nothing is left of them.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete a queue of items.

    \b
    Example:
      bandmaster queue delete invoices --force --yes
    """
    items = opened_items()
    check_queue_name(name)
    if force and not yes:
        confirm(f"Delete queue {name!r} with all its items?")
    deleted = items.queues.delete(name, by=user_at_host(), force=force)
    if as_json:
        say_json({"name": name, "items": deleted})
    else:
        say(f"{name} deleted, with {deleted:,} items")


def show_stats(name: Named, as_json: Json = False) -> None:
    """Count the items of a queue.

    \b
    Example:
      bandmaster queue stats invoices
    """
    items = opened_items()
    queue = items.queues.find(check_queue_name(name))
    figures = import_extra("bandmaster.items.statistics", "api").figures_of(items.store, queue.queue_id)
    counts = {status.value: count for status, count in figures.counts.items()}
    failed = {"appExceptions": figures.application_failures, "bizExceptions": figures.business_failures}
    took = figures.average_processing_seconds
    if as_json:
        say_json({"name": name, "counts": counts, **failed, "average_processing_seconds": took})
        return
    say_table([Column("STATUS"), Column("ITEMS", right=True)], [(name, f"{n:,}") for name, n in counts.items()])
    say(f"failed: {failed['appExceptions']:,} application, {failed['bizExceptions']:,} business")
    if took is not None:
        say(f"they took {took:.1f} s on average")


def opened_items(*, upgrades: bool = False) -> Any:
    """Open the queues and items of the ledger's database; with `upgrades`, it is made if it is missing.

    Raises:
        WrongUsage: If the command was sent to an API.
        LedgerMissing: If there is no database.
    """
    import_extra("fastapi", "api")
    settings = settings_of_command()
    if upgrades:
        database = import_extra("bandmaster.ledger.readying", "ledger").open_ledger(settings)
    else:
        database = import_extra("bandmaster.ledger.opening", "ledger").existing(settings)
    asking = import_extra("bandmaster.ledger.queries.asking", "ledger").Asking(database, queue=settings.redis.prefix)
    return import_extra("bandmaster.items.opened", "api").open_items(asking, notify=settings.notify)


def _document(queue: Any) -> dict[str, object]:
    return import_extra("bandmaster.admin.api.item_shapes", "api").queue_answer(queue, tells_all=True).model_dump()


def _tell(queue: Any, as_json: bool) -> None:
    if as_json:
        say_json({"queue": _document(queue)})
    else:
        say(f"{queue.name} is {'active' if queue.is_active else 'inactive'}, with {queue.max_retries} retries")
