"""``bandmaster notifications``: what was not delivered to the addresses of queues and triggers, and why.

In the flow: as `queue`, it reads the ledger's database and needs no Redis. The ledger's process delivers them.
"""

from typing import Annotated

import typer

from bandmaster.cli.exits import WrongUsage
from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Column, Json, say, say_json, say_table
from bandmaster.configs.extras import import_extra
from bandmaster.scheduler.model.times import iso_of


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
    store = opened_items().store
    listing = import_extra("bandmaster.items.notifying.listing", "api")
    subject = "queue" if queue is not None else None if trigger is None else "trigger"
    found = listing.undelivered(store, listing.Sought(subject, queue if queue is not None else trigger))
    if as_json:
        shape = import_extra("bandmaster.admin.api.notifications", "api").notification_list
        now_ms = store.read(import_extra("bandmaster.items.store", "api").now_of)
        say_json(shape(found, iso_of(now_ms)).model_dump())
        return
    if found.latest:
        columns = [Column("OF", folds=True), Column("WHAT"), Column("ADDED"), Column("TRIES", right=True)]
        columns += [Column("NEXT"), Column("PROBLEM", folds=True)]
        rows = [
            (
                f"{each.subject} {each.name}",
                each.event,
                iso_of(each.created_ms) or "-",
                str(each.attempts),
                "given up" if each.failed_ms is not None else iso_of(each.again_ms) or "-",
                each.last_problem or "-",
            )
            for each in found.latest
        ]
        say_table(columns, rows)
    say(f"{found.waiting:,} wait, {found.failed:,} were given up")
