"""``bandmaster queue test-notify`` and ``bandmaster trigger test-notify``: tries an address, and tells what came of it.

In the flow: writes a test into the outbox, or has the API do so, and waits until the ledger's process has sent it. It
comes from there, as all notifications do: what this machine reaches tells nothing. If the command dies, the test is
sent all the same, once.
"""

import time
from typing import Annotated, Final

import typer

from bandmaster.cli.desk.item_opening import at_items
from bandmaster.cli.exits import CommandFailed
from bandmaster.cli.queues import Named as QueueNamed
from bandmaster.cli.screen import Json, say, say_json
from bandmaster.cli.trigger_listing import Named as TriggerNamed
from bandmaster.items.names import check_queue_name, check_trigger_name
from bandmaster.items.notifying.subject import Subject

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
    _try_address(Subject.QUEUE, check_queue_name(name), wait, as_json)


def send_trigger_test(name: TriggerNamed, wait: Wait = WAIT_SECONDS, as_json: Json = False) -> None:
    """Try the address of a trigger: send it a signed notification of the type `test`, and tell what came of it.

    \b
    Example:
      bandmaster trigger test-notify book
    """
    _try_address(Subject.TRIGGER, check_trigger_name(name), wait, as_json)


def _try_address(subject: Subject, name: str, wait: int, as_json: bool) -> None:
    """Send a test, wait for what comes of it, and tell that.

    Raises:
        CommandFailed: If it was not delivered.
    """
    until = time.monotonic() + wait
    with at_items() as desk:
        found = desk.notifications.send_test(subject, name)
        while found.state == "waiting" and time.monotonic() < until:
            time.sleep(_ASKED_SECONDS)
            found = desk.notifications.one(found.id)
    if as_json:
        say_json({"notification": found.model_dump()})
    if found.state == "sent":
        if not as_json:
            say(f"delivered: the receiver answered with {found.last_status}")
    elif found.state == "failed":
        raise CommandFailed(f"not delivered: {found.last_problem}")
    else:
        raise CommandFailed(
            f"not delivered after {wait} s: does `python -m bandmaster.ledger` run, with notify.secret_file?"
        )
