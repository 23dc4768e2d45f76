"""Checks whether the server may evict keys when its memory is full, which would silently lose executions.

In the flow: `bandmaster status` and a starting worker check once. The queue's whole state is in Redis, so eviction may
lose waiting and running executions, and the stored answers for repeated calls. A server that evicts nothing refuses
new executions instead, and their senders are told. Where INFO is forbidden (the queue does not need it), there is no
warning.
"""

from typing import Any, Final

import redis

from ...configs.logger import Logger

log = Logger(__name__)
NO_EVICTION: Final = "noeviction"
ADVICE: Final = f"what it evicts is lost; set its maxmemory-policy to {NO_EVICTION}"


def eviction_policy(client: "redis.Redis") -> str | None:
    """Return the policy by which the server may evict keys; None if it evicts none, or does not answer INFO."""
    try:
        memory: Any = client.info("memory")
    except redis.RedisError as error:
        log.debug("eviction_unknown", error=str(error))
        return None
    policy = str(memory.get("maxmemory_policy", NO_EVICTION))
    return None if policy == NO_EVICTION else policy


def warn_of_eviction(client: "redis.Redis") -> None:
    """Log a warning if the server may evict keys."""
    policy = eviction_policy(client)
    if policy is not None:
        log.warning("eviction_possible", policy=policy, advice=ADVICE)
