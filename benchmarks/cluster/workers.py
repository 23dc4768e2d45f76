"""Runs real workers whose executions are pods in a namespace, by `dramatiq bandmaster.actors` as in production."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from bandmaster.configs.children import child_environment
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.valkey import end_with_parent

from ..rig import ROOT, Rig
from .place import Place

READY = "Worker process is ready for action"


@contextmanager
def workers(rig: Rig, place: Place, *, threads: int = 8) -> Generator[None]:
    """Run one worker process during the block, which begins when it is ready; it uses the settings of `place`."""
    names = place.settings.model_fields_set - {"backend"}
    own = {("k8s", name): str(getattr(place.settings, name)) for name in names}
    own |= {("k8s", "backend"): "kubernetes", ("redis", "url"): rig.url, ("paths", "var_dir"): str(rig.folder)}
    log = rig.folder / "workers.log"
    command = [sys.executable, "-W", "ignore", "-m", "dramatiq", "bandmaster.actors"]
    with log.open("wb") as output:
        group = subprocess.Popen(
            [*command, "--processes", "1", "--threads", str(threads)],
            cwd=ROOT,
            env=child_environment(own),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    try:
        rig.wait_until(lambda: READY in log.read_text(encoding="utf-8", errors="replace"), "the worker's start")
        yield
    finally:
        os.killpg(group.pid, signal.SIGKILL)
        group.wait()


def queue_of(rig: Rig, slots: int) -> ExecutionQueueService:
    """Open the queue, and give it so many slots."""
    queue = ExecutionQueueService(rig.client)
    for name in ("max_queue_size", "max_executions_per_user"):
        queue.controls.change_setting(name, 10**8)
    queue.controls.change_setting("max_concurrent_executions", slots)
    return queue


def submit(queue: ExecutionQueueService, line: str | None = None, **fields: object) -> str:
    """Enqueue one execution that runs a shell line, or has the given fields of an event."""
    asked: dict[str, object] = {"timeout_seconds": 600} | fields
    if line is not None:
        asked["command"] = ("sh", "-c", line)
    event = ExecutionRequestedEvent.from_any(asked)
    queue.enqueue(event)
    return event.execution_id
