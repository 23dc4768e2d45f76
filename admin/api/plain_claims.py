"""``PlainClaims``: the route by which robots take items, which reads what they mostly send by itself.

In the flow: for each request the framework works out anew what the parameters of a route depend on, and that costs more
than all that a claim needs besides. So a request with nothing unusual (JSON that is right, no query) is read here, who
calls is found out as everywhere, and the function of the route is called. Every other one is left to the framework, so
that what is wrong is told in one place. Nothing is kept here.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import BackgroundTasks, HTTPException, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import SecurityScopes
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from ...scheduler.model.errors import InvalidRequest
from ..answers.items import ClaimedItems
from ..auth.scopes import Scope
from .idempotency import check_key
from .item_requests import Wanted
from .requiring import caller_of, services_of
from .strict_bodies import StrictRequest, StrictRoute, read_json

_JSON: Final = "application/json"
_NEEDED: Final = SecurityScopes([Scope.ROBOT.value])


class PlainClaims(StrictRoute):
    """A route for robots, whose function takes what is `Wanted` and answers with `ClaimedItems`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer_any = APIRoute.get_route_handler(self)
        if self.dependencies:
            # Whatever a router asks for besides, the framework sees to.
            return super().get_route_handler()

        async def answer(given: Request) -> Response:
            request = StrictRequest(given.scope, given.receive)
            wanted, key = await _read(request)
            if wanted is None:
                return await answer_any(request)
            services, after = await services_of(request), BackgroundTasks()
            caller = await caller_of(request, services, after, _NEEDED, None, None)
            claimed: ClaimedItems = await self.endpoint(services, caller, request, wanted, key)
            return Response(claimed.model_dump_json(), media_type=_JSON, background=after)

        return answer


async def _read(request: Request) -> tuple[Wanted | None, str | None]:
    """What is wanted, and the Idempotency-Key; nothing, if the request is not as most are."""
    key = request.headers.get("idempotency-key")
    if request.scope["query_string"] or request.headers.get("content-type") != _JSON:
        return None, None
    try:
        return Wanted.model_validate(read_json(await request.body())), None if key is None else check_key(key)
    except (ClientDisconnect, HTTPException, InvalidRequest, ValidationError, ValueError, RecursionError):
        return None, None
