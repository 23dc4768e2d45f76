"""Sends calls by both clients, the blocking one and that for asyncio, as an admin."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from calling import Api

from bandmaster.client import AsyncClient, Client, calls

OF_TESTS: Final = {"notification", "send_queue_test", "send_trigger_test"}
"""The calls that try an address."""
OF_ITEMS: Final = {name for name in calls.__all__ if "item" in name} | OF_TESTS
"""The calls of queues and items."""
Ask = Callable[[calls.Call[Any]], Any]


@pytest.fixture(params=["blocking", "asyncio"])
def ask(request: pytest.FixtureRequest, api: Api) -> Iterator[Ask]:
    """Sends a call as an admin, by one of the clients."""
    token = api.token("root", "admin")
    if request.param == "blocking":
        with Client(api.url, token) as client:
            yield client.send
    else:

        async def sent(call: calls.Call[Any]) -> Any:
            async with AsyncClient(api.url, token) as client:
                return await client.send(call)

        yield lambda call: asyncio.run(sent(call))
