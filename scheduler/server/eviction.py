"""Whether the server may evict keys when its memory is full: it would forget executions without a word.

In the flow: `bandmaster status` and a starting worker ask once. All that the queue knows is in Redis, and what is
evicted there is lost: what waits, what runs, and the answers that calls are told again. A server that evicts nothing
refuses what is sent instead, and the sender is told. Who may not ask (the queue needs no INFO) is told nothing.
"""

from typing import Any, Final

import redis

from ...configs.logger import Logger

log = Logger(__name__)
NO_EVICTION: Final = "noeviction"
ADVICE: Final = f"what it evicts is lost; set its maxmemory-policy to {NO_EVICTION}"


def eviction_policy(client: "redis.Redis") -> str | None:
    """The policy by which the server may evict keys; None if it evicts none, or does not say."""
    try:
        memory: Any = client.info("memory")
    except redis.RedisError as error:
        log.debug("eviction_unknown", error=str(error))
        return None
    policy = str(memory.get("maxmemory_policy", NO_EVICTION))
    return None if policy == NO_EVICTION else policy


def warn_of_eviction(client: "redis.Redis") -> None:
    """Log it if the server may evict keys."""
    policy = eviction_policy(client)
    if policy is not None:
        log.warning("eviction_possible", policy=policy, advice=ADVICE)
