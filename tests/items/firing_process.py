"""A leader that is killed at a step of its first firing.

Run as ``python firing_process.py DATABASE REDIS STEP``.
"""

import os
import signal
import sys

import redis
from sqlalchemy import Engine, event

from bandmaster.items.store import Store
from bandmaster.items.trigger_rounds import Rounds
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService

url, redis_url, step = sys.argv[1:]
queue = ExecutionQueueService(redis.Redis.from_url(redis_url))
rounds = Rounds(
    Store(Asking(Database(url), queue="exec_queue")),
    queue,
    leads=lambda _: True,
    consumes=lambda: step != "before it is sent" or die(),
    has_read_all=lambda: False,
)


def die() -> bool:
    os.kill(os.getpid(), signal.SIGKILL)
    return True


def die_before_a_claim_is_kept(connection: object) -> None:
    if wrote:
        die()


def note_write(_: object, __: object, statement: str, *___: object) -> None:
    if statement.startswith("UPDATE queue_items SET status"):
        wrote.append(statement)


wrote: list[str] = []
if step == "before the claim is kept":
    event.listen(Engine, "before_cursor_execute", note_write)
    event.listen(Engine, "commit", die_before_a_claim_is_kept)
park = queue.transitions.park


def park_and_die(candidate: Candidate, *, by: str | None = None) -> object:
    if step == "before Redis is asked":
        die()
    parked = park(candidate, by=by)
    if step == "when Redis has accepted it":
        die()
    return parked


queue.transitions.park = park_and_die  # type: ignore[method-assign]
rounds.round()
