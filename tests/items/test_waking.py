"""Who waits for an item is woken through Redis, and nothing of it goes on once it is closed."""

import asyncio
import threading
from contextlib import ExitStack

import pytest
import redis

from bandmaster.items import waking as waking_module
from bandmaster.items.waking import Waking
from waiting import GENEROUS_SECONDS, wait_until


def living() -> dict[int | None, str]:
    """Threads of any such, of other tests as well."""
    return {each.ident: each.name for each in threading.enumerate() if each.name in ("items-waking", "items-telling")}


def test_it_wakes_who_waits_and_ends_when_it_is_closed(
    redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, tells = (Waking(redis_client, "items-of-this-test") for _ in range(2))
    before = living()

    async def wait() -> bool:
        with ExitStack() as stands:
            with monkeypatch.context() as patched:
                # Nobody of this line looks by itself.
                patched.setattr(waking_module, "LOOK_SECONDS", 3_600)
                place = stands.enter_context(waits.line(7))
            while not redis_client.pubsub_numsub("items-of-this-test")[0][1]:  # type: ignore[index]
                await asyncio.sleep(0.01)
            tells.tell(7)
            return await place.wait(GENEROUS_SECONDS)

    assert asyncio.run(wait())
    mine = {ident: name for ident, name in living().items() if ident not in before}
    assert sorted(mine.values()) == ["items-telling", "items-waking"]
    for each in (waits, tells):
        each.close()
    wait_until(lambda: not mine.keys() & living().keys(), what="the end of its threads")


def test_one_of_a_line_is_woken_and_then_another() -> None:
    waking = Waking(None, "items")

    async def stand() -> None:
        with waking.line(7) as first, waking.line(7) as second, waking.line(8) as elsewhere:
            waking.wake(7)
            assert (first.is_woken, second.is_woken, elsewhere.is_woken) == (True, False, False)
            waking.wake(7)
            assert second.is_woken
            first.look()
            second.look()
            waking.wake(7)
            assert (first.is_woken, second.is_woken) == (True, False)

    asyncio.run(stand())


def test_who_goes_without_looking_wakes_the_next() -> None:
    waking = Waking(None, "items")

    async def stand() -> None:
        with waking.line(7) as second:
            with waking.line(7) as first:
                waking.wake(7)
                assert second.is_woken
                second.look()
                waking.wake(7)
                assert first.is_woken
            assert second.is_woken

    asyncio.run(stand())


def test_somebody_of_a_line_looks_even_if_nobody_tells() -> None:
    waking = Waking(None, "items")

    async def stand() -> bool:
        with waking.line(7) as place:
            return await place.wait(GENEROUS_SECONDS)

    assert asyncio.run(stand())
