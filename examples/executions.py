"""Executions with their logs: users' programs run as pods, in order, and can be followed and cancelled.

    bandmaster up               # a server, a worker for executions, a scheduler
    python executions.py        # in another terminal: submits three programs

Without a cluster, a pod is a process of this machine, which runs as your user. On Kubernetes it is a real pod, and
nothing here changes. A submitter needs only the queue's server, and may exit: the program runs on.
"""

import subprocess
import sys

from bandmaster import BandedRedisBroker, ExecutionRequestedEvent, Priority

queue = BandedRedisBroker.from_settings().queue

COUNT = """\
import os, time

for number in range(1, 4):
    print(os.environ["EXECUTION_ID"], "counts", number, flush=True)
    time.sleep(0.2)
"""


def follow(execution_id: str) -> None:
    """Print an execution's output until it has ended, by the command `bandmaster logs -f ID`."""
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "bandmaster", "logs", "--follow", execution_id], check=True)
    print(f"{execution_id} has ended: {queue.explain(execution_id).state}")


def main() -> None:
    script = ExecutionRequestedEvent.from_any(
        {"script": COUNT, "priority": Priority.HIGH, "timeout_seconds": 60, "metadata": {"user_id": "ann"}}
    )
    queue.enqueue(script)
    follow(script.execution_id)

    command = ExecutionRequestedEvent.from_any({"command": ["sh", "-c", "echo this one fails; exit 3"]})
    queue.enqueue(command)
    follow(command.execution_id)

    endless = ExecutionRequestedEvent.from_any({"command": ["sleep", "600"], "metadata": {"user_id": "ben"}})
    queue.enqueue(endless)
    queue.cancel(endless.execution_id)  # whether it waits or runs; its slot is free once its pod is gone
    follow(endless.execution_id)


if __name__ == "__main__":
    main()
