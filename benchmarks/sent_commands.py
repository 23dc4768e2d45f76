"""What clients send to the server while a block runs, counted by MONITOR, apart from what scripts do.

In the flow: questions about round trips and about idle workers count so. It slows the server down a little, so nothing
is timed meanwhile.
"""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis

END = "PING sent-commands-end"
NOT_COUNTED = frozenset({"CLIENT", "HELLO", "SCRIPT", "FUNCTION", "SELECT", "PING", "INFO"})
"""Once a connection, not once a message."""


class SentCommands:
    """Counts what clients send."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """All of them."""
        return self.by_name.total()

    def listen(self, commands: Any) -> None:
        """Count until the end's mark comes by."""
        for seen in commands:
            command: str = seen["command"]
            if command == END:
                return
            name = command.partition(" ")[0].upper()
            if seen["client_type"] != "lua" and name not in NOT_COUNTED:
                self.by_name[name] += 1


@contextmanager
def sent_commands(client: "redis.Redis") -> Generator[SentCommands]:
    """Complete when the block has ended."""
    counted = SentCommands()
    with client.monitor() as commands:
        thread = threading.Thread(target=counted.listen, args=(commands.listen(),), daemon=True)
        thread.start()
        yield counted
        client.execute_command(*END.split())
        thread.join(timeout=60)
