"""``bandmaster notifications``: what was not delivered to the addresses of queues and triggers, and why.

In the flow: as `queue`, it reads beside the ledger's database or through the API, and needs no Redis. The ledger's
process delivers them.
"""

from typing import Annotated

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.items.names import check_queue_name, check_trigger_name
from bandmaster.items.notifying.subject import Subject


def list_notifications(
    queue: Annotated[str | None, typer.Option("--queue", metavar="QUEUE", help="Of this queue.")] = None,
    trigger: Annotated[str | None, typer.Option("--trigger", metavar="TRIGGER", help="Of this trigger.")] = None,
    as_json: Json = False,
) -> None:
    """List notifications that their receivers have not taken.

    \b
    Examples:
      bandmaster notifications
      bandmaster notifications --queue invoices --json
    """
    if queue is not None and trigger is not None:
        raise WrongUsage("--queue and --trigger: give one of them")
    if queue is not None:
        check_queue_name(queue)
    if trigger is not None:
        check_trigger_name(trigger)
    subject = Subject.QUEUE if queue is not None else None if trigger is None else Subject.TRIGGER
    with at_items() as desk:
        found = desk.notifications.undelivered(subject, queue if queue is not None else trigger)
    if as_json:
        say_json(found.model_dump())
        return
    if found.notifications:
        columns = [Column("OF", folds=True), Column("WHAT"), Column("ADDED"), Column("TRIES", right=True)]
        columns += [Column("NEXT"), Column("PROBLEM", folds=True)]
        rows = [
            (
                f"{each.subject} {each.name}",
                each.event,
                each.created_at,
                str(each.attempts),
                "given up" if each.failed_at is not None else each.again_at or "-",
                each.last_problem or "-",
            )
            for each in found.notifications
        ]
        say_table(columns, rows)
    say(f"{found.waiting:,} wait, {found.failed:,} were given up")
