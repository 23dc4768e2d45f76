"""Who waits for an item is woken through Redis, and nothing of it goes on once it is closed."""

import asyncio
import threading
import time

import redis

from bandmaster.items.waking import Waking
from waiting import wait_until


def living() -> dict[int | None, str]:
    """Threads of any such, of other tests as well."""
    return {each.ident: each.name for each in threading.enumerate() if each.name in ("items-waking", "items-telling")}


def test_it_wakes_who_waits_and_ends_when_it_is_closed(redis_client: redis.Redis) -> None:
    waits, tells = (Waking(redis_client, "items-of-this-test") for _ in range(2))
    before = living()

    async def wait() -> float:
        waiting = asyncio.create_task(waits.wait(7, 60))
        while not redis_client.pubsub_numsub("items-of-this-test")[0][1]:  # type: ignore[index]
            await asyncio.sleep(0.01)
        waiting.cancel()
        begun = time.monotonic()
        waiting = asyncio.create_task(waits.wait(7, 60))
        await asyncio.sleep(0)
        tells.tell(7)
        await waiting
        return time.monotonic() - begun

    assert asyncio.run(wait()) < 1
    mine = {ident: name for ident, name in living().items() if ident not in before}
    assert sorted(mine.values()) == ["items-telling", "items-waking"]
    for each in (waits, tells):
        each.close()
    wait_until(lambda: not mine.keys() & living().keys(), what="the end of its threads")
