"""A bare endpoint: FastAPI on Uvicorn, one model, read from nowhere. It writes its port where the question finds it."""

import os
import socket
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from ..records import FOLDER_VARIABLE

PORT = "bare_api.port"


class Answer(BaseModel):
    """An execution's answer, about as large as a real one."""

    execution_id: str
    state: str
    priority: str
    lane: str
    action: str
    user_id: str
    gates: list[str]
    attempt: int
    accepted_at: str
    waits_for: list[str]


application = FastAPI()


@application.get("/api/v1/executions/{execution_id}")
def show(execution_id: str) -> Answer:
    """The same for each id."""
    return Answer(
        execution_id=execution_id,
        state="PENDING",
        priority="NORMAL",
        lane="executions",
        action="pod",
        user_id="ann",
        gates=["tenant:1"],
        attempt=0,
        accepted_at="2026-01-01T00:00:00.000Z",
        waits_for=["no worker has asked for lane executions yet"],
    )


if __name__ == "__main__":
    # asyncio turns Nagle's delay off only where the protocol is named.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    Path(os.environ[FOLDER_VARIABLE], PORT).write_text(str(listening.getsockname()[1]))
    uvicorn.Server(uvicorn.Config(application, access_log=False, log_level="warning")).run(sockets=[listening])
