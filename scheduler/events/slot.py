"""The event of an execution that is a slot of code: who waits for it. Nothing in it could be run.

In the flow: Redis keeps it as long as the execution lives, as it keeps every event; whoever asks for what an execution
runs reads it.
"""

import json
import os
import socket
import sys
from pathlib import PurePath


def slot_event(execution_id: str, name: str) -> bytes:
    """Return the event as JSON."""
    waiter = {"host": socket.gethostname(), "process_id": os.getpid(), "program": PurePath(sys.argv[0]).name}
    event = {"event_type": "slot_requested", "execution_id": execution_id, "action": name, "waiter": waiter}
    return json.dumps(event).encode()
