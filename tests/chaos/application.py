"""The application of a chaos run: an actor a lane, more lanes than threads. Each body notes what it does."""

import os
import time
from pathlib import Path

import dramatiq
from dramatiq.actor import Actor

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants.context import current_entry
from chaos.notes import Notes
from chaos.plan import FAIR, KIND, LANES, LEASE_MS, NARROW, NARROW_ROOM, actor_of

HEARTBEAT_MS = 3_000
"""Of Dramatiq's own lists, which plain producers fill: whose worker is gone is found by its missing heartbeat."""
OFTEN = 200_000
"""Calls in a million that look for such."""

broker = BandedRedisBroker(
    url=os.environ["CHAOS_REDIS_URL"],
    lease_ttl_ms=LEASE_MS,
    lanes={FAIR: {"fair_by": KIND}, NARROW: {"max_queue_size": NARROW_ROOM}},
    heartbeat_timeout=HEARTBEAT_MS,
    maintenance_chance=OFTEN,
)
dramatiq.set_broker(broker)
notes = Notes(Path(os.environ["CHAOS_FOLDER"]), "runs")


class Planned(Exception):
    """A body fails on purpose."""


def body(seconds: float, fails: int, gives_up: bool) -> None:
    """Note that it begins, take its time, note how it ends."""
    entry = current_entry()
    assert entry is not None
    assert entry.grant is not None
    execution_id, attempt = entry.grant.execution_id, entry.grant.attempt
    notes.write("began", execution_id, attempt=attempt)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.005)
    if gives_up or attempt <= fails:
        notes.write("failed", execution_id, attempt=attempt)
        raise Planned(f"attempt {attempt}")
    notes.write("ended", execution_id, attempt=attempt)


def declare(lane: str) -> Actor[..., None]:
    """The actor of a lane."""
    return dramatiq.actor(
        actor_name=actor_of(lane),
        queue_name=lane,
        band="NORMAL",
        action=lane,
        max_retries=20,
        min_backoff=50,
        max_backoff=500,
    )(body)


actors = {lane: declare(lane) for lane in LANES}
