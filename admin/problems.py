"""Errors as the API answers with them: ``application/problem+json`` (RFC 9457), each with a stable `code`.

In the flow: whatever a route raises on purpose ends here. `code` is for programs, and stays; `detail` is for people.
Nothing of a payload is in either. An error that nobody meant is logged with its traceback and answered with 500.
"""

from typing import Any, Final, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from ..configs.logger import Logger
from ..items.errors import ItemsRefused
from ..k8s.errors import PodError, PodRejected, PodsUnavailable
from ..ledger.errors import LedgerError
from ..scheduler.model.errors import (
    AmbiguousExecution,
    BandmasterError,
    DuplicateExecution,
    InvalidRequest,
    NotRunnable,
    QueueFull,
    QueueUnavailable,
    ScheduleExists,
    SettingChanged,
    UnknownExecution,
    UnknownSchedule,
    UserLimitExceeded,
    shown,
)
from ..scheduler.model.misspelt import allowed_of
from .errors import Refused
from .oidc.errors import ProviderUnavailable
from .shards.elsewhere import told_elsewhere

_log = Logger(__name__)
MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = "5"
_LISTED: Final = 20
_OF_BODY: Final = 2
"""The parts of the place of a field that stands in the body itself."""
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

_ANSWERS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    # The first match counts: InvalidRequest is a QueueRejected, too.
    (InvalidRequest, 422, "invalid"),
    (PodRejected, 422, "invalid"),
    (QueueFull, 429, "queue_full"),
    (UserLimitExceeded, 429, "user_limit"),
    (DuplicateExecution, 409, "duplicate"),
    (AmbiguousExecution, 409, "ambiguous"),
    (NotRunnable, 409, "not_runnable"),
    (SettingChanged, 412, "changed_meanwhile"),
    (UnknownSchedule, 404, "not_found"),
    (ScheduleExists, 409, "schedule_exists"),
    (QueueUnavailable, 503, "redis_unavailable"),
    (LedgerError, 503, "ledger_unavailable"),
    (PodsUnavailable, 503, "pods_unavailable"),
    (PodError, 502, "pods_failed"),
    (ProviderUnavailable, 503, "provider_unavailable"),
)
_NOT_TOLD: Final = {
    "redis_unavailable": "Redis does not answer; the API's log says more",
    "ledger_unavailable": "the ledger's database does not answer, or refuses; the API's log says more",
    "pods_unavailable": "the cluster does not answer; the API's log says more",
    "provider_unavailable": "the OpenID provider does not answer, or refuses; the API's log says more",
}
_OF_ITEMS: Final = {"not_found": 404, "changed_meanwhile": 412, "idempotency_key_reused": 422}
"""The status of a refusal of queues and items; all others are conflicts."""
_OF_STATUS: Final = {404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large"}


def install(application: FastAPI) -> None:
    """Let an application answer with problems."""
    for kind, handler in (
        (BandmasterError, _expected),
        (RequestValidationError, _not_valid),
        (HTTPException, _of_framework),
        (Exception, _unexpected),
    ):
        application.add_exception_handler(kind, handler)


def problem(status: int, code: str, detail: str, *, headers: dict[str, str] | None = None, **more: Any) -> JSONResponse:
    """Return an answer that tells of a problem.

    Args:
        status: Of HTTP.
        code: Its stable name.
        detail: A sentence for people.
        headers: Further headers.
        more: Further members.
    """
    waits = {"Retry-After": _RETRY_SECONDS} if status in (429, 503) else {}
    document = {"type": "about:blank", "title": code.replace("_", " "), "status": status, "code": code} | {
        "detail": detail,
        **more,
    }
    return JSONResponse(document, status_code=status, headers=waits | (headers or {}), media_type=MEDIA_TYPE)


async def _expected(request: Request, error: Exception) -> JSONResponse:
    if isinstance(error, ItemsRefused):
        return problem(_OF_ITEMS.get(error.code, 409), error.code, str(error))
    if isinstance(error, Refused):
        return problem(error.status, error.code, str(error), headers=error.headers)
    if isinstance(error, UnknownExecution):
        said, more = await told_elsewhere(request, error)
        return problem(404, "not_found", f"{error}{said}", **more)
    status, code = next(((status, code) for kind, status, code in _ANSWERS if isinstance(error, kind)), (500, "failed"))
    if isinstance(error, InvalidRequest | PodRejected) and error.field is not None:
        return problem(status, code, str(error), field=error.field)
    if code in _NOT_TOLD:
        # Addresses and users of servers are for the log; whoever is answered may be a stranger.
        _log.warning(code, problem=str(error))
        return problem(status, code, _NOT_TOLD[code])
    return problem(status, code, str(error))


async def _not_valid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Only where and why: the value may be a payload.
    wrong = [
        {
            "field": ".".join(str(part) for part in each["loc"][1:]) or str(each["loc"][0]),
            "problem": _why(each, request),
        }
        for each in error.errors()[:_LISTED]
    ]
    first = wrong[0]
    detail = f"{shown(first['field'])[1:-1]}: {first['problem']}"
    return problem(422, "invalid", detail, field=first["field"], errors=wrong)


def _why(wrong: Any, request: Request) -> str:
    cause = wrong.get("ctx", {}).get("error")
    if isinstance(cause, InvalidRequest):
        return f"{cause.problem}{f'; allowed: {cause.allowed}' if cause.allowed else ''}"
    if wrong["type"] == "extra_forbidden":
        known = _fields_of(request) if len(wrong["loc"]) == _OF_BODY else set[str]()
        return "there is no such field" + (f"; allowed: {allowed_of(str(wrong['loc'][-1]), known)}" if known else "")
    if wrong["loc"] == ("body",) and isinstance(wrong["input"], bytes):
        # The framework reads a body of another type not at all.
        given = request.headers.get("content-type")
        return f"Content-Type is {'missing' if given is None else shown(given)}; allowed: application/json"
    return str(wrong["msg"]).removeprefix("Value error, ")


def _fields_of(request: Request) -> set[str]:
    """The fields of the body that a request's route takes."""
    route = request.scope.get("route")
    given = route.dependant.body_params if isinstance(route, APIRoute) else []
    kinds = [kind for each in given for kind in (each.field_info.annotation, *get_args(each.field_info.annotation))]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


async def _of_framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = _OF_STATUS.get(error.status_code, "refused")
    detail = _not_here(request) if error.status_code == 404 else str(error.detail)
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # The framework names those of the first route of the path only.
        headers["Allow"] = ", ".join(_allowed(request))
        detail = f"{shown(request.method)[1:-1]} is not possible here; allowed: {headers['Allow']}"
    return problem(error.status_code, code, detail, headers=headers)


def _not_here(request: Request) -> str:
    path = request.url.path
    other = path.rstrip("/") if path.endswith("/") else f"{path}/"
    near = f"; did you mean {shown(other)}?" if _allowed(request, path=other) else ""
    return f"there is no {shown(path)} here{near}"


def _allowed(request: Request, **other: str) -> list[str]:
    """The methods that a path has: that of a request, or another one."""
    scopes = {method: dict(request.scope) | {"method": method, **other} for method in _METHODS}
    routes = request.app.router.routes
    return [
        method for method, scope in scopes.items() if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _log.error("request_failed", method=request.method, path=request.url.path, exc_info=error)
    return problem(500, "failed", "the API failed; its log says why")
