"""``bandmaster item``: lists, adds, shows and changes items of queues, straight in the ledger's database.

In the flow: as `queue`, it needs no Redis: a robot that waits finds what is added here within a second. Each change is
in the audit under the user's name and host.
"""

import json
from typing import Annotated, Any

import typer

from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.times import read_duration, show_time
from bandmaster.configs.extras import import_extra
from bandmaster.items.bounds import PRIORITY_MAX
from bandmaster.items.names import check_queue_name
from bandmaster.items.states import Status
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.operators import user_at_host

Item = Annotated[str, typer.Argument(metavar="ITEM", help="Its id.")]
Priority = Annotated[
    int,
    typer.Option(
        *("--priority", "-p"),
        metavar="N",
        min=-PRIORITY_MAX,
        max=PRIORITY_MAX,
        help="The larger is handed out first.",
    ),
]


def list_items(
    context: typer.Context,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="Only of this queue.")] = None,
    status: Annotated[
        list[str] | None, typer.Option(metavar="STATUS", help="Only these: NEW, FAILED and so on; repeatable.")
    ] = None,
    reference: Annotated[str | None, typer.Option(metavar="TEXT", help="Only those with this reference.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")] = 20,
    as_json: Json = False,
) -> None:
    """List items of queues, the latest first, or change some.

    \b
    Examples:
      bandmaster item --queue invoices --status FAILED
      bandmaster item add invoices '{"invoice": 17}'
      bandmaster item retry 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    if context.invoked_subcommand is not None:
        return
    statuses = tuple(read_status(each) for each in status or ())
    items = opened_items()
    of = None if queue is None else items.queues.find(check_queue_name(queue)).queue_id
    sought = import_extra("bandmaster.items.listing", "api").Sought(of, statuses, reference)
    found = items.listing.page(sought, limit)
    if as_json:
        rows = import_extra("bandmaster.admin.api.item_shapes", "api")
        say_json({"items": [rows.item_row(each).model_dump() for each in found]})
    elif found:
        columns = [
            *(Column("ITEM", folds=True), Column("STATUS"), Column("PRIORITY", right=True), Column("REFERENCE")),
            *(Column("ROBOT", drops=True), Column("ADDED", drops=True)),
        ]
        lines = [
            (
                *(each.item_id, each.status.value, str(each.priority), each.reference or ""),
                *(each.locked_by_robot_id or "", show_time(each.created_ms)),
            )
            for each in found
        ]
        say_table(columns, lines)
    else:
        say("there are none")


def add_item(
    queue: Annotated[str, typer.Argument(metavar="QUEUE", help="Its name.")],
    payload: Annotated[str, typer.Argument(metavar="JSON", help="Any JSON value.")] = "null",
    reference: Annotated[str | None, typer.Option(metavar="TEXT", help="By which it is found again.")] = None,
    priority: Priority = 0,
    as_json: Json = False,
) -> None:
    """Add an item to a queue.

    \b
    Example:
      bandmaster item add invoices '{"invoice": 17}' --reference 17
    """
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        raise WrongUsage("the payload is no JSON: a text needs quotes of its own, like '\"text\"'") from None
    items = opened_items()
    found = items.queues.find(check_queue_name(queue))
    added = items.adding.add(found, by=user_at_host(), payload=value, reference=reference, priority=priority)
    _tell(added, as_json)


def show_item(item: Item, as_json: Json = False) -> None:
    """Show an item, with its payload and its result.

    \b
    Example:
      bandmaster item show 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    found = opened_items().listing.one(item)
    document = _document(found)
    if as_json:
        say_json({"item": document})
    else:
        for name, value in document.items():
            say(f"{name}: {json.dumps(value, ensure_ascii=False)}")


def retry_item(item: Item, as_json: Json = False) -> None:
    """Let an item that failed, was abandoned, is postponed or held be handed out again, as if it were new.

    \b
    Example:
      bandmaster item retry 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    _tell(opened_items().editing.edit(item, {"status": Status.NEW}, by=user_at_host(), revision=None), as_json)


def postpone_item(
    item: Item,
    after: Annotated[str, typer.Option("--for", metavar="AGE", help="Not before so long: 10m, 12h.")],
    as_json: Json = False,
) -> None:
    """Put an item off; one that is held is taken from its robot.

    \b
    Example:
      bandmaster item postpone 01a21bed-da25-7427-8fae-9d5c2e791d82 --for 12h
    """
    seconds = read_duration(after, "--for")
    items = opened_items()
    at_ms = items.store.read(import_extra("bandmaster.items.store", "api").now_of)
    changed = {"available_ms": at_ms + seconds * 1000}
    _tell(items.editing.edit(item, changed, by=user_at_host(), revision=None), as_json)


def delete_item(item: Item, as_json: Json = False) -> None:
    """Delete an item: it is handed out no more, and stays in lists of DELETED ones until its time is over.

    \b
    Example:
      bandmaster item delete 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    _tell(opened_items().editing.delete(item, by=user_at_host(), revision=None), as_json)


def read_status(given: str) -> Status:
    """Return the status that an option names.

    Raises:
        InvalidRequest: If it names none.
    """
    if given.upper() not in set(Status):
        raise InvalidRequest("--status", f"{shown(given)} is no status", allowed=", ".join(Status))
    return Status(given.upper())


def _document(item: Any) -> dict[str, Any]:
    return import_extra("bandmaster.admin.api.item_shapes", "api").item_answer(item, withheld=False).model_dump()


def _tell(item: Any, as_json: bool) -> None:
    if as_json:
        say_json({"item": _document(item)})
    else:
        say(f"{item.item_id} {item.status}")
