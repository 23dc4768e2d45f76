"""``StrictRoute``: a route that refuses a JSON body in which an object names a field twice.

In the flow: Python, like most readers, takes the last of them, and a proxy that looks at bodies may take the first; so
what was checked need not be what is done. The body is read before anything else of the request. Nothing is kept here.
"""

import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute

from ...scheduler.model.errors import shown


def read_json(text: str | bytes) -> Any:
    """Return the value that a JSON text says.

    Raises:
        HTTPException: If an object in it names a field twice.
        ValueError: If it is no JSON.
    """
    return json.loads(text, object_pairs_hook=_each_once)


class StrictRoute(APIRoute):
    """A route with such bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return strictly


class StrictRequest(Request):
    """A request of such a route."""

    async def json(self) -> Any:
        """Read the body."""
        return read_json(await self.body())


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        # FastAPI lets only its own kind of exception out of the reading of a body.
        raise HTTPException(400, f"an object of the body names {shown(twice)} twice")
    return found
