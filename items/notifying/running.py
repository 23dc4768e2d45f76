"""Runs the delivery of notifications beside the ledger's consumer, where there is a secret to sign them with.

In the flow: `trigger_rounds.running` enters it. What delivers is imported then, as it needs a package that not
everybody has; without it, or with a secret that cannot be read, the ledger is written all the same, and notifications
wait.
"""

import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Final

from ...configs.errors import ExtraMissing, SettingsError
from ...configs.extras import import_extra
from ...configs.logger import Logger
from ...configs.settings import Settings
from ...ledger.consumer import Consumer
from ...ledger.opening import database_of
from ...ledger.queries.asking import Asking
from ..store import Store

_log: Final = Logger(__name__)


@contextmanager
def delivering(settings: Settings, consumer: Consumer) -> Generator[None]:
    """Deliver the notifications of the settings' ledger in a thread of its own, through connections of its own."""
    if not settings.notify.has_secret:
        yield
        return
    try:
        posting = import_extra("bandmaster.items.notifying.posting", "client").Posting(settings.notify)
        module = import_extra("bandmaster.items.notifying.delivering", "client")
    except (ExtraMissing, SettingsError) as error:
        _log.error("notifications_wait", error=str(error))
        yield
        return
    stop = threading.Event()
    with closing(database_of(settings)) as database:
        store = Store(Asking(database, queue=settings.redis.prefix))
        work = module.Delivering(store, posting, leads=lambda: consumer.consumes)
        thread = threading.Thread(target=work.run, args=(stop,), name="notifications")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
