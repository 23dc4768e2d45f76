"""``python -m chaos.producing``: sends messages until it is told to end, and notes what came of each.

CHAOS_PLAIN=1 makes it another service's producer, which knows nothing of lanes. Killed between the note that it sends
and the note of the answer, it leaves a message that may be there or not.
"""

import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import dramatiq
import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from dramatiq.errors import ConnectionError as BrokerConnectionError

from bandmaster.middleware.errors import UNAVAILABLE
from bandmaster.scheduler.engine.schedules import Schedules
from bandmaster.scheduler.model.errors import BandmasterError, DuplicateExecution, QueueRejected, UnknownSchedule
from bandmaster.scheduler.planning import run_now, run_now_id
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from chaos.notes import Notes
from chaos.plan import LANES, SCHEDULES, actor_of, draw, planned_of

PAUSE_SECONDS: Final = (0.01, 0.25)
READY: Final = "producing"
AT_ONCE: Final = 0.03
"""Of what a producer of ours does: it has a schedule run once now."""
PATIENCE_SECONDS: Final = 5.0
"""Of a plain producer's client, which would wait for ever otherwise."""

Send = Callable[["Message[Any]", int | None], object]


def main() -> int:
    """Send, until SIGTERM."""
    over = threading.Event()

    def end(_number: int, _frame: object) -> None:
        over.set()

    signal.signal(signal.SIGTERM, end)
    plain, seed = os.environ["CHAOS_PLAIN"] == "1", os.environ["CHAOS_SEED"]
    chance, notes = random.Random(seed), Notes(Path(os.environ["CHAOS_FOLDER"]), "sends")
    send = sender(plain, os.environ["CHAOS_REDIS_URL"])
    schedules = ExecutionQueueService(client_of(os.environ["CHAOS_REDIS_URL"]), deadline_seconds=5.0).schedules
    print(READY, flush=True)
    while not over.wait(chance.uniform(*PAUSE_SECONDS)):
        if not plain and chance.random() < AT_ONCE:
            run_one(schedules, chance, notes)
            continue
        planned = draw(chance, plain=plain)
        message = Message[Any](
            queue_name=planned.lane,
            actor_name=actor_of(planned.lane),
            args=planned.arguments(),
            kwargs={},
            options=dict(planned.options),
        )
        notes.write("sends", message.message_id, plain=plain, **planned.as_json())
        try:
            send(message, planned.delay_ms)
        except QueueRejected as error:
            notes.write("refused", message.message_id, code=error.code)
        except (*UNAVAILABLE, BrokerConnectionError, redis.RedisError) as error:
            notes.write("doubtful", message.message_id, error=type(error).__name__)
        else:
            notes.write("accepted", message.message_id)
    return 0


def run_one(schedules: Schedules, chance: random.Random, notes: Notes) -> None:
    """Run a schedule once now, under a key of its own; once more if the answer did not come."""
    name, key = chance.choice(SCHEDULES), f"{chance.getrandbits(64):x}"
    execution_id = run_now_id(name, key)
    notes.write("sends", execution_id, plain=False, **planned_of(name).as_json())
    outcome = "refused"
    for _ in range(2):
        try:
            run_now(schedules, name, key)
        except DuplicateExecution:
            outcome = "accepted"
        except (QueueRejected, UnknownSchedule):
            pass  # refused, or, after an answer that was lost, perhaps not
        except (*UNAVAILABLE, BandmasterError, redis.RedisError):
            outcome = "doubtful"
            continue
        else:
            outcome = "accepted"
        break
    notes.write(outcome, execution_id)


def sender(plain: bool, url: str) -> Send:
    """The way to send of a service."""
    if plain:
        broker = RedisBroker(url=url, socket_timeout=PATIENCE_SECONDS, socket_connect_timeout=PATIENCE_SECONDS)
        for lane in LANES:
            broker.declare_queue(lane)
        dramatiq.set_broker(broker)
        return partial(_enqueue, broker)
    from chaos import application  # noqa: PLC0415 - a plain service does not have it

    return partial(_enqueue, application.broker)


def _enqueue(broker: dramatiq.Broker, message: "Message[Any]", delay_ms: int | None) -> None:
    broker.enqueue(message, delay=delay_ms)


if __name__ == "__main__":
    sys.exit(main())
