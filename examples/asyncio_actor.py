"""An actor that is a coroutine, and sending from asyncio.

    dramatiq asyncio_actor          # a worker
    python asyncio_actor.py         # in another terminal: sends from an event loop

Bodies that are coroutines run in one event loop of the worker process. Each still takes a thread and a slot, so limits
apply to them as to other bodies: here, two visits of a host at once. A body may run any number of tasks concurrently.
Sending is awaited, and does not block the event loop.
"""

import asyncio

import dramatiq
from dramatiq.middleware import AsyncIO

from bandmaster import BandedRedisBroker, QueueRejected, actor

broker = BandedRedisBroker.from_settings()
broker.add_middleware(AsyncIO())
dramatiq.set_broker(broker)


@actor(queue_name="visits", band="NORMAL", gates=["host:{host}"], limits={"host:*": 2})
async def visit(host: str, number: int) -> None:
    print(f"{host} {number} begins", flush=True)
    async with asyncio.TaskGroup() as pages:
        for page in ("front", "back"):
            pages.create_task(read(f"{host} {number}", page))
    print(f"{host} {number} is done", flush=True)


async def read(visitor: str, page: str) -> None:
    """Stands for a request of an HTTP client."""
    print(f"{visitor} opens {page}", flush=True)
    await asyncio.sleep(0.1)
    print(f"{visitor} closes {page}", flush=True)


async def main() -> None:
    # A hundred messages per round trip; each is accepted or refused separately.
    outcomes = await broker.asend_many(visit.message("example.org", number) for number in range(1, 6))
    refused = [outcome for outcome in outcomes if isinstance(outcome, QueueRejected)]
    print(f"{len(outcomes) - len(refused)} accepted, {len(refused)} refused")

    message = await visit.asend_with_options(args=("example.net", 1), band="CRITICAL")
    print("and", message.options["execution_id"])


if __name__ == "__main__":
    asyncio.run(main())
