"""An ordinary application, one of whose actors takes its worker with it each time it runs."""

import os
import time

import dramatiq

from bandmaster import BandedRedisBroker

broker = BandedRedisBroker(url=os.environ["DEADLY_REDIS_URL"], lease_ttl_ms=20_000)
dramatiq.set_broker(broker)


@dramatiq.actor(band="HIGH")
def deadly() -> None:
    """As a crash in a C extension, or the kernel's out-of-memory killer."""
    # Not while Dramatiq starts: its main process would wait for ever for a worker that dies while it says it is ready.
    time.sleep(0.5)
    os._exit(7)


@dramatiq.actor(band="LOW")
def harmless() -> None:
    """Waits behind it."""
