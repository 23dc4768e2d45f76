"""`async with slot(…)`: the loop is never blocked, tasks get slots in order, and a cancelled one leaves nothing."""

import asyncio
import random

import pytest
from crowding import NAME, in_queue, is_free
from logged import context_of, events

from bandmaster import ExecutionQueueService, Slots, SlotTimeout
from waiting import wait_until

LOOK_SECONDS = 0.005


def test_the_worked_example_a_to_e_in_tasks(slots: Slots, queue: ExecutionQueueService) -> None:
    order: list[str] = []

    async def take(who: str) -> None:
        async with slots.slot(NAME, limit=2):
            order.append(who)
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(take(who) for who in "ABCDE"))

    asyncio.run(main())
    assert order == list("ABCDE")
    assert is_free(queue)


def test_a_thousand_tasks_on_one_slot_get_it_in_their_order(slots: Slots, queue: ExecutionQueueService) -> None:
    order: list[int] = []
    held = [0]

    async def take(number: int) -> None:
        async with slots.slot(NAME, limit=1):
            held[0] += 1
            assert held == [1]
            order.append(number)
            held[0] -= 1

    async def main() -> None:
        await asyncio.gather(*(take(number) for number in range(1000)))

    asyncio.run(main())
    assert order == list(range(1000))
    assert is_free(queue)
    assert slots.get_queue_stats(NAME).total_completed == 1000


def test_the_loop_goes_on_while_a_task_waits(slots: Slots, queue: ExecutionQueueService) -> None:
    rounds: list[int] = []

    async def main() -> None:
        async with slots.slot(NAME, limit=1):
            waiting = asyncio.create_task(_take(slots))
            while queue.action_statistics(NAME).queue_length == 0:
                await asyncio.sleep(LOOK_SECONDS)
            for number in range(20):
                await asyncio.sleep(LOOK_SECONDS)
                rounds.append(number)
            assert not waiting.done()
        await waiting

    asyncio.run(main())
    assert len(rounds) == 20
    assert is_free(queue)


def test_a_task_that_times_out_or_is_cancelled_leaves_its_place(slots: Slots, queue: ExecutionQueueService) -> None:
    async def main() -> None:
        async with slots.slot(NAME, limit=1):
            with pytest.raises(SlotTimeout):
                await _take(slots, timeout=0.02)
            assert in_queue(queue) == 1
            waiting = asyncio.create_task(_take(slots))
            while queue.action_statistics(NAME).queue_length == 0:
                await asyncio.sleep(LOOK_SECONDS)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            while queue.action_statistics(NAME).queue_length:
                await asyncio.sleep(LOOK_SECONDS)

    asyncio.run(main())
    assert is_free(queue)


def test_tasks_cancelled_at_any_moment_leak_nothing(slots: Slots, queue: ExecutionQueueService) -> None:
    chance = random.Random(7)

    async def main() -> tuple[int, int]:
        took = cancelled = 0
        for _ in range(150):
            tasks = [asyncio.create_task(_take(slots)) for _ in range(2)]
            await asyncio.sleep(chance.uniform(0, 0.004))
            tasks[0].cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                assert outcome is None or isinstance(outcome, asyncio.CancelledError)
                took += outcome is None
                cancelled += outcome is not None
        return took, cancelled

    took, cancelled = asyncio.run(main())
    assert took > 150
    assert cancelled
    wait_until(lambda: is_free(queue), what="all of them gone")


async def _take(slots: Slots, *, timeout: float | None = None) -> None:
    async with slots.slot(NAME, limit=1, timeout=timeout):
        await asyncio.sleep(0)


def test_a_wait_that_stops_the_event_loop_is_said_once(
    slots: Slots, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        with slots.slot(NAME, limit=1):
            for timeout in (0, 0.05, 0.05):
                with pytest.raises(SlotTimeout) as raised, slots.slot(NAME, limit=1, timeout=timeout):
                    pass
                assert ("use `async with`" in str(raised.value)) is (timeout > 0)
            with pytest.raises(SlotTimeout) as raised:
                async with slots.slot(NAME, limit=1, timeout=0.05):
                    pass
            assert "use `async with`" not in str(raised.value)

    asyncio.run(main())
    assert events(caplog).count("slot_stops_event_loop") == 1
    assert context_of(caplog, "slot_stops_event_loop")["name"] == NAME
    assert is_free(queue)


def test_a_task_that_holds_one_itself_is_told_so_and_no_other_task_is(slots: Slots) -> None:
    async def told_to_a_task_that_waits() -> str:
        with pytest.raises(SlotTimeout) as raised:
            async with slots.slot(NAME, limit=1, timeout=0.05):
                pass
        return str(raised.value)

    async def main() -> tuple[str, str]:
        async with slots.slot(NAME, limit=1):
            return await told_to_a_task_that_waits(), await asyncio.create_task(told_to_a_task_that_waits())

    itself, other = asyncio.run(main())
    assert "its own thread or task holds one: take one slot around both" in itself
    assert "its own thread or task" not in other
