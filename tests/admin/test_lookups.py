"""Look-ups for many at once: who asks for the same has one, and who asks for too much is refused."""

import asyncio
import threading

import pytest

from bandmaster.admin.lookups import Lookups
from waiting import GENEROUS_SECONDS


class TooMany(Exception):
    """What is raised for one that is not made."""


def test_those_who_ask_for_the_same_at_once_take_one_place() -> None:
    lookups, go_on, asked = Lookups(1, most=1, refusal=TooMany), threading.Event(), list[str]()

    def look(name: str) -> str:
        asked.append(name)
        assert go_on.wait(GENEROUS_SECONDS)
        return f"found {name}"

    async def all_at_once() -> list[str]:
        waiting = [asyncio.create_task(lookups.run_once("ann", look, "ann")) for _ in range(16)]
        await asyncio.sleep(0)
        with pytest.raises(TooMany):
            await lookups.run_once("bob", look, "bob")
        waiting.pop().cancel()
        go_on.set()
        return await asyncio.gather(*waiting)

    assert asyncio.run(all_at_once()) == ["found ann"] * 15
    assert asked == ["ann"]
    assert asyncio.run(lookups.run_once("ann", look, "ann")) == "found ann"
    assert asked == ["ann", "ann"], "later it is another"
