"""Writes the configured runtime settings to Redis where nobody has set them yet.

In the flow: a worker process does this when it boots, and again when the server came back without its settings. Values
that an operator or an earlier start has set stay (D14).
While the server does not answer, a background thread tries again; the worker waits for that server too. If the process
dies here, the next one that boots does it.
"""

import sys
import threading
from typing import TYPE_CHECKING, Final

from dramatiq import Broker
from dramatiq.middleware import Middleware

from ..configs.logger import Logger
from ..scheduler.model.errors import InvalidRequest, QueueUnavailable
from ..scheduler.queue import ExecutionQueueService
from .intake.gated_actors import GatedActors

if TYPE_CHECKING:
    from ..configs.settings import Settings

log = Logger(__name__)
AGAIN_SECONDS: Final = 5.0


class Seeding(Middleware):
    """Seeds one queue from one process's settings."""

    def __init__(self, queue: ExecutionQueueService, settings: "Settings", gated: GatedActors) -> None:
        self._queue = queue
        self._settings = settings
        gated.when_lost(self._seed_again)

    def after_process_boot(self, broker: Broker) -> None:
        """Write the settings.

        Raises:
            SystemExit: If the queue does not accept a configured value. Dramatiq would swallow any other exception of
                this hook, and the worker would run without its configuration.
        """
        try:
            self.seed()
        except InvalidRequest as error:
            log.error("worker_not_started", error=str(error))
            sys.exit(1)
        except QueueUnavailable as error:
            log.warning("settings_not_seeded", error=str(error), again_after_seconds=AGAIN_SECONDS)
            threading.Thread(target=self._seed_later, name="bandmaster-seeding", daemon=True).start()

    def _seed_again(self) -> None:
        try:
            self.seed()
        except InvalidRequest as error:
            log.error("settings_not_seeded", error=str(error))

    def _seed_later(self) -> None:
        pause = threading.Event()
        while not pause.wait(AGAIN_SECONDS):
            try:
                self.seed()
            except QueueUnavailable:
                continue
            except InvalidRequest as error:
                log.error("settings_not_seeded", error=str(error))
            return

    def seed(self) -> None:
        """Write each setting that is configured and not set yet.

        Raises:
            QueueUnavailable: If Redis did not answer.
            InvalidRequest: If the queue does not accept a configured value.
        """
        known = self._queue.views.status().settings.keys()
        for area in (self._settings.limits, self._settings.leases, self._settings.retention):
            for name in area.model_fields_set & known:
                configured: int = getattr(area, name)
                in_force = self._queue.controls.change_setting(name, configured, only_if_unset=True)
                if in_force != configured:
                    log.warning("setting_differs", name=name, configured=configured, in_force=in_force)
