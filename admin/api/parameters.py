"""Refuses parameters of a query that its route does not know: whoever misspells a filter would get everything.

In the flow: asked once who calls is known, before anything is read. What a provider adds to the address of a login is
left alone, since those routes have no caller.
"""

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.misspelt import allowed_of


def check_parameters(request: Request) -> None:
    """Check the names of a request's parameters.

    Raises:
        InvalidRequest: If its route does not know one of them.
    """
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = _names(route.dependant)
    for name in request.query_params:
        if name not in known:
            raise InvalidRequest(shown(name)[1:-1], "there is no such parameter", allowed=allowed_of(name, known))


def _names(dependant: Dependant) -> set[str]:
    names = {parameter.alias for parameter in dependant.query_params}
    return names.union(*(_names(each) for each in dependant.dependencies))
