"""Builds the API: its routes, its border, and how it answers when something is wrong.

In the flow: the process serves it, the tests do, and `describing` writes down what it offers. Version 1 only grows.
"""

import re
from importlib.metadata import version
from typing import Any, Final

from fastapi import FastAPI, Security
from fastapi.routing import APIRoute
from starlette.types import ASGIApp

from ..configs.api import LOOPBACK, ApiSettings
from . import problems
from .api import (
    actions,
    audit,
    bulk,
    changing,
    controls,
    events,
    executions,
    health,
    item_files,
    item_queues,
    items,
    living,
    loads,
    notifications,
    oidc,
    output,
    rates,
    robots,
    schedules,
    session,
    shards,
    shares,
    submitting,
    tokens,
    triggers,
    waited,
    waits,
    whoami,
    workers,
)
from .api.requiring import caller_of
from .auth.scopes import Scope
from .border import Border
from .examples import add_examples
from .page.serving import serve_page
from .refusals import REFERENCES, add_components
from .services import Services

V1: Final = "/api/v1"
SUBMITTING_PATHS: Final = tuple(
    f"{V1}{before}/executions/{last}" for before in ("", "/admin") for last in ("", "upload")
)
"""Where a body has a script."""
UNVERSIONED: Final = "/api"
ITEM_PATHS: Final = tuple(f"{before}/queue-items{last}" for before in (V1, UNVERSIONED) for last in ("", "/add"))
"""Where a body has a payload."""
UPLOADING_PATHS: Final = re.compile(rf"(?:{V1}|{UNVERSIONED})/queues/[^/]+/items/upload")
"""Where a body is a file of items."""
_DESCRIPTION: Final = """What happened, and steering it.

Every request but those of the probes has a token (`Authorization: Bearer bm_…`), or the cookie of a browser that
signed in. Errors are
`application/problem+json` with a stable `code`. Reads say their `source` and `as_of`. Times are RFC 3339 in UTC.
"""


class _Api(FastAPI):
    """An application whose document tells of each refusal once."""

    def openapi(self) -> dict[str, Any]:
        """Return the document."""
        document = super().openapi()
        add_components(document)
        add_examples(document)
        return document


def build(services: Services) -> FastAPI:
    """Return the application, without its border."""
    application = _Api(
        title="Bandmaster",
        version=version("bandmaster"),
        description=_DESCRIPTION,
        # Whoever forgets a slash is told so: a redirection of what changes something is no error to many programs.
        redirect_slashes=False,
        # A page of documentation would load programs from elsewhere.
        docs_url=None,
        redoc_url=None,
        openapi_url=f"{V1}/openapi.json",
        generate_unique_id_function=_name_of,
        responses=REFERENCES,
    )
    application.state.services = services
    problems.install(application)
    # First what is called most: a request is compared with route after route. And `next` is no item's id.
    application.include_router(robots.router, prefix=V1, tags=["queues and items"])
    # Those of many before those of one, whose path would match theirs.
    of_many = (bulk.router, living.router, executions.history)
    for part in (*of_many, executions.router, waits.router, output.router, submitting.router, changing.router):
        application.include_router(part, prefix=f"{V1}/executions", tags=["executions"])
        application.include_router(
            part,
            prefix=f"{V1}/admin/executions",
            tags=["executions, for admins"],
            dependencies=[Security(caller_of, scopes=[Scope.ADMIN.value])],
        )
    for part in (workers.router, loads.lanes, waited.router):
        application.include_router(
            part,
            prefix=f"{V1}/admin",
            tags=["figures, for admins"],
            dependencies=[Security(caller_of, scopes=[Scope.ADMIN.value])],
        )
    for part, tag in (
        *((workers.router, "figures"), (loads.lanes, "figures"), (waited.router, "figures")),
        *((events.router, "events"), (actions.router, "figures"), (loads.router, "figures")),
        (shards.router, "figures"),
        *((controls.router, "controls"), (rates.router, "controls"), (shares.router, "controls")),
        (schedules.router, "schedules"),
        *((audit.router, "audit"), (tokens.router, "tokens"), (whoami.router, "tokens"), (session.router, "tokens")),
        (oidc.router, "tokens"),
        *((item_queues.router, "queues and items"), (items.router, "queues and items")),
        (item_files.router, "queues and items"),
        *((triggers.router, "queues and items"), (notifications.router, "queues and items")),
    ):
        application.include_router(part, prefix=V1, tags=[tag])
    for part in (item_queues.router, item_files.router, robots.router, items.router, triggers.router):
        # Robots of old call them there.
        application.include_router(part, prefix=UNVERSIONED, include_in_schema=False)
    application.include_router(health.router, tags=["probes"])
    serve_page(application)
    return application


def guarded(application: FastAPI, settings: ApiSettings) -> ASGIApp:
    """Return the application behind its border."""
    named = settings.allowed_hosts or (() if settings.is_loopback else ("*",))
    # No page can be at a loopback name of somebody else's, and probes come by one.
    return Border(
        application,
        allowed_hosts=[*named, *LOOPBACK],
        submitting_paths=(*SUBMITTING_PATHS, *ITEM_PATHS),
        uploading_paths=UPLOADING_PATHS,
        settings=settings,
    )


def _name_of(route: APIRoute) -> str:
    """An operation's name: that of its function; behind `admin_` where it stands a second time."""
    return f"admin_{route.name}" if route.path.startswith(f"{V1}/admin/") else route.name
