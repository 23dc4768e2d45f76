"""Handlers of tasks as a user writes them: no broker, no actor; the settings say where the server is."""

import os
from typing import Any

import redis

from bandmaster import task_handler

said = redis.Redis.from_url(os.environ["APP_SAID_URL"])


@task_handler("default")
def handle(payload: dict[str, Any]) -> None:
    """Say that it came."""
    said.rpush("said", payload["task_id"])
