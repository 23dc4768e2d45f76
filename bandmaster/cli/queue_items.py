"""``bandmaster item``: lists, adds, shows and changes items of queues, beside the ledger's database or through the API.

In the flow: as `queue`, it needs no Redis: a robot that waits finds what is added here within a second. Each change is
in the audit.
"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.cli.times import ms_of, read_duration, show_time
from bandmaster.items.bounds import PAYLOAD_MAX_BYTES, PRIORITY_MAX
from bandmaster.items.checks import check_fields
from bandmaster.items.json_texts import text_of
from bandmaster.items.names import check_item_id, check_queue_name
from bandmaster.items.states import Status
from bandmaster.scheduler.model.errors import InvalidRequest, shown

if TYPE_CHECKING:
    from bandmaster.admin.answers.items import ItemAnswer, ItemRow

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
    check_fields({"reference": reference})
    of = None if queue is None else check_queue_name(queue)
    with at_items() as desk:
        found = desk.items.latest(of, statuses, reference, limit)
    if as_json:
        say_json({"items": [each.model_dump() for each in found]})
    elif found:
        columns = [
            *(Column("ITEM", folds=True), Column("STATUS"), Column("PRIORITY", right=True), Column("REFERENCE")),
            *(Column("ROBOT", drops=True), Column("ADDED", drops=True)),
        ]
        lines = [
            (
                *(each.id, each.status, str(each.priority), each.reference or ""),
                *(each.locked_by_robot_id or "", show_time(ms_of(each.created_at))),
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
    text_of("payload", value, max_bytes=PAYLOAD_MAX_BYTES)
    check_fields({"reference": reference})
    check_queue_name(queue)
    with at_items() as desk:
        added = desk.items.add(queue, value, reference, priority)
    if as_json:
        say_json({"item": added.model_dump()})
    else:
        _say(added)


def show_item(item: Item, as_json: Json = False) -> None:
    """Show an item, with its payload and its result.

    \b
    Example:
      bandmaster item show 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    check_item_id(item)
    with at_items() as desk:
        found = desk.items.one(item)
    if as_json:
        say_json({"item": found.model_dump()})
    else:
        for name, value in found.model_dump().items():
            say(f"{name}: {json.dumps(value, ensure_ascii=False)}")


def retry_item(item: Item, as_json: Json = False) -> None:
    """Let an item that failed, was abandoned, is postponed or held be handed out again, as if it were new.

    \b
    Example:
      bandmaster item retry 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    check_item_id(item)
    with at_items() as desk:
        _tell(desk.items.retry(item), as_json)


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
    check_item_id(item)
    with at_items() as desk:
        _tell(desk.items.postpone(item, seconds), as_json)


def delete_item(item: Item, as_json: Json = False) -> None:
    """Delete an item: it is handed out no more, and stays in lists of DELETED ones until its time is over.

    \b
    Example:
      bandmaster item delete 01a21bed-da25-7427-8fae-9d5c2e791d82
    """
    check_item_id(item)
    with at_items() as desk:
        _tell(desk.items.delete(item), as_json)


def read_status(given: str) -> Status:
    """Return the status that an option names.

    Raises:
        InvalidRequest: If it names none.
    """
    if given.upper() not in set(Status):
        raise InvalidRequest("--status", f"{shown(given)} is no status", allowed=", ".join(Status))
    return Status(given.upper())


def _tell(item: "ItemAnswer", as_json: bool) -> None:
    if as_json:
        say_json({"item": item.model_dump()})
    else:
        _say(item)


def _say(item: "ItemRow") -> None:
    say(f"{item.id} {item.status}")
