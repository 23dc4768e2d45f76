"""Who waits on the server, in the database of a client: other test processes may use other ones of the same server."""

from typing import Any

import redis

from waiting import wait_until


def blocked_clients(client: redis.Redis) -> list[int]:
    """The ids of those that sit in a blocking command."""
    number = str(client.connection_pool.connection_kwargs.get("db", 0))
    listed: Any = client.client_list()
    return [int(each["id"]) for each in listed if "b" in each["flags"] and each["db"] == number]


def wait_until_somebody_waits(client: redis.Redis) -> None:
    """Until one client sits in a blocking command."""
    wait_until(lambda: len(blocked_clients(client)) == 1, what="somebody waits")
