"""An application with more lanes than its workers have threads, whose bodies say when they begin and end."""

import os
import time
from collections.abc import Callable
from typing import Any, cast

import dramatiq
import redis

from bandmaster import BandedRedisBroker

LANES = [f"lane-{number}" for number in range(19)] + ["default"]

broker = BandedRedisBroker(url=os.environ["APP_REDIS_URL"])
dramatiq.set_broker(broker)
said = redis.Redis.from_url(os.environ["APP_SAID_URL"])


def job(name: str, seconds: float) -> None:
    """Say that it begins, take its time, say that it ended."""
    said.rpush("said", f"+{name}")
    time.sleep(seconds)
    said.rpush("said", f"-{name}")


declare = cast("Callable[..., dramatiq.Actor[..., Any]]", dramatiq.actor)  # its overloads know no options as a whole
for lane in LANES:
    declare(job, actor_name=f"job-{lane}", queue_name=lane, band="NORMAL")
