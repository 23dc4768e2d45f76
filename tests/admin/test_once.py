"""Those who ask for the same at once are answered by one asking, whoever of them goes away."""

import asyncio
import gc
from typing import Any

import pytest

from bandmaster.admin.once import Once


class Asked:
    """Counts who asks, and answers when a test says so."""

    def __init__(self, problem: BaseException | None = None) -> None:
        self.count, self._problem, self.goes_on = 0, problem, asyncio.Event()

    async def __call__(self) -> int:
        self.count += 1
        await self.goes_on.wait()
        if self._problem is not None:
            raise self._problem
        return self.count


async def begun(once: Once, asked: Asked, *keys: str) -> list["asyncio.Task[int]"]:
    """Those who ask, each of whom waits."""
    tasks = [asyncio.create_task(once.run(key, asked)) for key in keys]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def test_it_is_done_once_for_all_who_ask_meanwhile_and_anew_afterwards() -> None:
    async def ask() -> None:
        once, asked = Once(), Asked()
        tasks = await begun(once, asked, "a", "a", "b", "a")
        assert asked.count == 2
        asked.goes_on.set()
        assert await asyncio.gather(*tasks) == [2, 2, 2, 2]
        assert await once.run("a", asked) == 3

    asyncio.run(ask())


def test_what_is_raised_is_for_all() -> None:
    async def ask() -> list[Any]:
        once, asked = Once(), Asked(KeyError("no"))
        tasks = await begun(once, asked, "a", "a")
        asked.goes_on.set()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert asked.count == 1
        return told

    assert [type(each) for each in asyncio.run(ask())] == [KeyError, KeyError]


def test_who_goes_away_does_not_end_it_for_the_others() -> None:
    async def ask() -> None:
        once, asked = Once(), Asked()
        first, second = await begun(once, asked, "a", "a")
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        asked.goes_on.set()
        assert await second == 1

    asyncio.run(ask())


@pytest.mark.parametrize("problem", [KeyError("no"), asyncio.CancelledError()])
def test_what_nobody_hears_any_more_is_no_error(problem: Any) -> None:
    told = list[Any]()

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))
        once, asked = Once(), Asked(problem)
        (task,) = await begun(once, asked, "a")
        task.cancel()
        asked.goes_on.set()
        for _ in range(3):
            await asyncio.sleep(0)
        del task
        gc.collect()

    asyncio.run(ask())
    assert told == []
