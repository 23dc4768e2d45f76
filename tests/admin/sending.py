"""Executions that users sent, and those of a list that the API answers."""

from typing import Final

import httpx
from calling import V1, Api

from bandmaster.scheduler.events import ExecutionRequestedEvent

ALL: Final = f"{V1}/admin/executions/"


def send(api: Api, execution_id: str, user: str | None = "ann", **fields: object) -> None:
    """Send one that runs `true`."""
    event = {"execution_id": execution_id, "command": ("true",), "metadata": {"user_id": user}, **fields}
    api.queue.enqueue(ExecutionRequestedEvent.from_any(event))


def ids(answer: httpx.Response) -> list[str]:
    """The ids of a list, in its order."""
    assert answer.status_code == 200, answer.text
    return [each["execution_id"] for each in answer.json()["executions"]]
