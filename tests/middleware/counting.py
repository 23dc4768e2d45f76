"""How often the server was sent a command."""

from typing import Any

import redis


def calls(client: redis.Redis, *commands: str) -> int:
    """How often one of these was called; FCALL, BLPOP, BLMOVE and EVALSHA are called by no script."""
    statistics: Any = client.info("commandstats")
    return sum(statistics.get(f"cmdstat_{command}", {}).get("calls", 0) for command in commands)
