"""An application that makes the library speak: a refusal, a pipeline whose next step is refused, a body that fails.

Its first argument is a server's URL, its second says what it has configured: ``nothing`` or ``logging``.
"""

import logging
import sys
from contextlib import suppress

import dramatiq
from dramatiq import Worker
from dramatiq.middleware import Pipelines

from bandmaster import BandedRedisBroker, QueueRejected
from bandmaster.scheduler.server.connection import client_of

SECRET = "hunter2"

if sys.argv[2] == "logging":
    logging.basicConfig(level=logging.DEBUG, format="%(name)s %(levelname)s %(message)s", stream=sys.stdout)
# Dramatiq's own lines show arguments: which of them an application keeps is its own business.
logging.getLogger("dramatiq").disabled = True
logging.getLogger("dramatiq").setLevel(logging.CRITICAL + 1)

broker = BandedRedisBroker(client=client_of(sys.argv[1]))
dramatiq.set_broker(broker)
assert any(isinstance(each, Pipelines) for each in broker.middleware)


class Opaque:
    """Cannot be encoded, and says what it holds."""

    def __repr__(self) -> str:
        return SECRET


@dramatiq.actor(band="HIGH", max_retries=0)
def first(payload: str) -> str:
    return payload


@dramatiq.actor(band="HIGH", max_retries=0)
def fails(payload: str) -> None:
    raise RuntimeError(payload)


for message in (
    first.message_with_options(args=(Opaque(),)),
    first.message_with_options(args=(SECRET,), band="URGENT"),
):
    with suppress(QueueRejected):
        broker.enqueue(message)
(first.message(SECRET) | first.message_with_options(args=(), band="URGENT")).run()
fails.send(SECRET)
worker = Worker(broker, worker_timeout=100, worker_threads=1)
worker.start()
broker.join(first.queue_name, timeout=60_000)
worker.stop()
broker.close()
