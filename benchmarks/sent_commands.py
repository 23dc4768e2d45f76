"""Counts the commands that clients send to the server during a block, by MONITOR, without the commands of scripts.

In the flow: questions about round trips and about idle workers use this. MONITOR slows the server down a little, so no
times are measured meanwhile.
"""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import redis

END = "PING sent-commands-end"
NOT_COUNTED = frozenset({"CLIENT", "HELLO", "SCRIPT", "FUNCTION", "SELECT", "PING", "INFO"})
"""Commands that are sent once per connection, not once per message."""


class SentCommands:
    """The counted commands of clients."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """The number of all counted commands."""
        return self.by_name.total()

    def listen(self, commands: Any) -> None:
        """Count commands until the mark of the end arrives."""
        for seen in commands:
            command: str = seen["command"]
            if command == END:
                return
            name = command.partition(" ")[0].upper()
            if seen["client_type"] != "lua" and name not in NOT_COUNTED:
                self.by_name[name] += 1


@contextmanager
def sent_commands(client: "redis.Redis") -> Generator[SentCommands]:
    """Count the commands during the block; the counts are complete when it has ended."""
    counted = SentCommands()
    with client.monitor() as commands:
        thread = threading.Thread(target=counted.listen, args=(commands.listen(),), daemon=True)
        thread.start()
        yield counted
        client.execute_command(*END.split())
        thread.join(timeout=60)
