"""``bandmaster queue test-notify`` and ``bandmaster trigger test-notify``: tries an address, and tells what came of it.

In the flow: writes a test into the outbox, as the API does, and waits until the ledger's process has sent it. It comes
from there, as all notifications do: what this machine reaches tells nothing. If the command dies, the test is sent all
the same, once.
"""

import time
from typing import Annotated, Any, Final

import typer

from bandmaster.cli.exits import CommandFailed
from bandmaster.cli.queues import Named as QueueNamed
from bandmaster.cli.queues import opened_items
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.trigger_listing import Named as TriggerNamed
from bandmaster.configs.extras import import_extra
from bandmaster.items.names import check_queue_name, check_trigger_name
from bandmaster.scheduler.model.operators import user_at_host

WAIT_SECONDS: Final = 30
MOST_SECONDS: Final = 600
_ASKED_SECONDS: Final = 0.2
"""Between two looks into the outbox: the process that sends writes there, and nobody tells a command of it."""
Wait = Annotated[
    int, typer.Option("--wait", metavar="SECONDS", min=1, max=MOST_SECONDS, help="For what comes of it, at most.")
]


def send_queue_test(name: QueueNamed, wait: Wait = WAIT_SECONDS, as_json: Json = False) -> None:
    """Try the address of a queue: send it a signed notification of the type `test`, and tell what came of it.

    \b
    Example:
      bandmaster queue test-notify invoices
    """
    items = opened_items()
    found = items.queues.find(check_queue_name(name))
    _tell(items, items.testing.of_queue(found, by=user_at_host()), wait, as_json)


def send_trigger_test(name: TriggerNamed, wait: Wait = WAIT_SECONDS, as_json: Json = False) -> None:
    """Try the address of a trigger: send it a signed notification of the type `test`, and tell what came of it.

    \b
    Example:
      bandmaster trigger test-notify book
    """
    items = opened_items()
    found = items.triggers.find(check_trigger_name(name))
    _tell(items, items.testing.of_trigger(found, by=user_at_host()), wait, as_json)


def _tell(items: Any, delivery_id: str, wait: int, as_json: bool) -> None:
    """Wait for what comes of a test, and tell it.

    Raises:
        CommandFailed: If it was not delivered.
    """
    find = import_extra("bandmaster.items.notifying.listing", "api").find_notification
    until = time.monotonic() + wait
    found = find(items.store, delivery_id)
    while found.state == "waiting" and time.monotonic() < until:
        time.sleep(_ASKED_SECONDS)
        found = find(items.store, delivery_id)
    if as_json:
        row = import_extra("bandmaster.admin.api.notifications", "api").notification_row(found)
        say_json({"notification": row.model_dump()})
    if found.state == "sent":
        if not as_json:
            say(f"delivered: the receiver answered with {found.last_status}")
    elif found.state == "failed":
        raise CommandFailed(f"not delivered: {found.last_problem}")
    else:
        raise CommandFailed(
            f"not delivered after {wait} s: does `python -m bandmaster.ledger` run, with notify.secret_file?"
        )
