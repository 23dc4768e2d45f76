"""django-dramatiq: Django's settings name the broker and all middleware; its own keeps a row for each message."""

import sys
from pathlib import Path
from typing import Any, cast

import django
import dramatiq
from django.apps import apps
from django.conf import settings
from django.core.management import call_command  # pyright: ignore[reportUnknownVariableType]

from bandmaster import BandedRedisBroker
from swap.companions.working import GATED, JOIN_MS, declare, running
from waiting import wait_until

MIDDLEWARE = [
    "dramatiq.middleware.AgeLimit",
    "dramatiq.middleware.TimeLimit",
    "dramatiq.middleware.Callbacks",
    "dramatiq.middleware.Retries",
    "django_dramatiq.middleware.AdminMiddleware",
    "django_dramatiq.middleware.DbConnectionsMiddleware",
]


def body(good: bool) -> None:
    """Of both actors."""
    assert good


def main(url: str, folder: Path) -> None:
    """Set Django up, and look at the rows."""
    waits = {"timeout": 20, "transaction_mode": "IMMEDIATE"}
    settings.configure(
        INSTALLED_APPS=["django_dramatiq"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "db", "OPTIONS": waits}},
        USE_TZ=True,
        DRAMATIQ_BROKER={
            "BROKER": "bandmaster.BandedRedisBroker",
            "OPTIONS": {"url": url, "namespace": "site"},
            "MIDDLEWARE": MIDDLEWARE,
        },
    )
    django.setup()
    call_command("migrate", verbosity=0)
    tasks = cast("Any", apps).get_model("django_dramatiq", "Task").tasks
    broker: Any = dramatiq.get_broker()
    assert type(broker) is BandedRedisBroker
    actors = [
        declare(body, actor_name="gated", max_retries=0, **GATED),
        declare(body, actor_name="ungated", max_retries=0),
    ]
    # Before the worker starts: its own hook after an enqueue would overwrite what the worker has noted.
    expected = {actor.send(good).message_id: "done" if good else "failed" for actor in actors for good in (True, False)}
    expected |= {actor.send_with_options(args=(True,), max_age=1).message_id: "skipped" for actor in actors}
    cancelled = actors[0].send_with_options(args=(True,), delay=3_600_000).message_id
    broker.queue.cancel(cancelled)
    expected[cancelled] = "skipped"
    with running(broker):
        broker.join("default", timeout=JOIN_MS)

        def noted() -> dict[str, str]:
            return {str(row.id): row.status for row in tasks.all()}

        wait_until(lambda: noted() == expected, what="a row each")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
