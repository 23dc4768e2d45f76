"""``bandmaster queue``: lists, makes, changes and deletes queues of items.

In the flow: beside the ledger's database it needs no Redis; else it goes through the API. Each change is in the audit.
Their items have `bandmaster item`. Robots take items through the API.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.option_names import OF_QUEUE, as_options
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.selecting import Yes, confirm
from bandmaster.items.bounds import (
    LEASE_MAX_SECONDS,
    LEASE_SECONDS,
    RETRIES_MAX,
    RETRY_MAX_SECONDS,
    RETRY_SECONDS,
    SCHEMA_MAX_BYTES,
)
from bandmaster.items.json_texts import text_of
from bandmaster.items.names import check_queue_name

if TYPE_CHECKING:
    from bandmaster.admin.answers.items import QueueAnswer

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
Schema = Annotated[
    str | None, typer.Option(metavar="FILE", help="A JSON Schema that payloads have to fit; '': any payload does.")
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
    with at_items() as desk:
        queues = desk.queues.all()
    if as_json:
        say_json({"queues": [each.model_dump() for each in queues]})
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
    schema: Schema = None,
    as_json: Json = False,
) -> None:
    """Make a queue of items.

    \b
    Examples:
      bandmaster queue create invoices --max-retries 2 --unique
      bandmaster queue create receipts --schema receipt.schema.json
    """
    fields: dict[str, Any] = {
        "description": description,
        "max_retries": max_retries,
        "enforce_unique_reference": unique,
        "is_active": True,
        "lease_seconds": lease,
        "retry_seconds": retry,
        "notify_url": notify or None,
        "payload_schema": _read_schema(schema or ""),
    }
    with as_options(OF_QUEUE), at_items(upgrades=True) as desk:
        made = desk.queues.create(check_queue_name(name), fields)
    _tell(made, as_json)


def change_queue(
    name: Named,
    active: Annotated[bool | None, typer.Option("--active/--inactive", help="Whether it takes and gives.")] = None,
    max_retries: Retries = None,
    lease: Lease = None,
    retry: Pause = None,
    notify: Address = None,
    schema: Schema = None,
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
    if schema is not None:
        changed["payload_schema"] = _read_schema(schema)
    with as_options(OF_QUEUE), at_items() as desk:
        after = desk.queues.change(check_queue_name(name), changed)
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
    check_queue_name(name)
    if force and not yes:
        confirm(f"Delete queue {name!r} with all its items?")
    with at_items() as desk:
        deleted = desk.queues.delete(name, force=force).items
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
    with at_items() as desk:
        found = desk.queues.stats(check_queue_name(name))
    if as_json:
        shown = {"name", "counts", "appExceptions", "bizExceptions", "average_processing_seconds"}
        say_json(found.model_dump(include=shown))
        return
    rows = [(status, f"{count:,}") for status, count in found.counts.items()]
    say_table([Column("STATUS"), Column("ITEMS", right=True)], rows)
    say(f"failed: {found.appExceptions:,} application, {found.bizExceptions:,} business")
    if found.average_processing_seconds is not None:
        say(f"they took {found.average_processing_seconds:.1f} s on average")


def _read_schema(file: str) -> Any:
    """Return what a file holds; of no file, None.

    Raises:
        WrongUsage: If it cannot be read, or is not JSON.
    """
    if not file:
        return None
    try:
        schema = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise WrongUsage(f"--schema: {file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise WrongUsage(f"--schema: {file} is no JSON") from None
    with as_options(OF_QUEUE):
        text_of("payload_schema", schema, max_bytes=SCHEMA_MAX_BYTES)
    return schema


def _tell(queue: "QueueAnswer", as_json: bool) -> None:
    if as_json:
        say_json({"queue": queue.model_dump()})
    else:
        say(f"{queue.name} is {'active' if queue.is_active else 'inactive'}, with {queue.max_retries} retries")
