"""The client has a call for each route of the OpenAPI document, with all its parameters; both clients are the same."""

import inspect
import io
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from pydantic import BaseModel

from bandmaster.admin.client.call import Call, Content
from bandmaster.admin.client.calls.executions import Filters
from bandmaster.admin.client.errors import problem_of
from bandmaster.admin.client.files import Export, items_file
from bandmaster.admin.client.streams import Stream
from bandmaster.admin.client.wire import request_of
from bandmaster.admin.describing import described
from bandmaster.client import ApiProblem, AsyncClient, Client, calls, streams

DOCUMENT: Final = described()
ADMINS: Final = "/api/v1/admin/"
ONLY_OF_BROWSERS: Final = {
    "GET /api/v1/session",
    "POST /api/v1/session",
    "DELETE /api/v1/session",
    "GET /api/v1/session/oidc",
    "GET /api/v1/session/oidc/callback",
}
OF_TRACES: Final = {"traceparent", "tracestate"}
NOW: Final = datetime.now(UTC)
GIVEN: Final[dict[str, Any]] = {
    "submission": {"command": ["x"]},
    "script": b"x",
    "key": "k",
    "wish": {"action": "cancel"},
    "status": ["PENDING"],
    "priority": "HIGH",
    "scopes": ["read"],
    "gates": ["tenant:*"],
    "content": Content(io.BytesIO(b"{}"), "application/x-ndjson"),
    "mode": "each",
    "limit": 1,
    "tail_bytes": 1,
    "total": True,
    "value": 1,
    "expected": 1,
    "fields": {"cron": "0 0 * * *"},
    "count": 1,
} | dict.fromkeys(
    (
        "accepted_from",
        "accepted_to",
        "added_from",
        "added_to",
        "changed_from",
        "changed_to",
        "ended_from",
        "ended_to",
        "expires_at",
    ),
    NOW,
)


def given_to(function: Callable[..., Any]) -> dict[str, Any]:
    """Something for each of its parameters; of `**filters`, for each filter."""
    names = list(inspect.signature(function).parameters)
    if "filters" in names:
        names[-1:] = Filters.__annotations__
    return {name: GIVEN.get(name, "x") for name in names}


def made() -> Iterator[tuple[str, Call[Any] | Stream[Any] | Export]]:
    """Each call and stream with all that it takes, and each limit, rate, share and weight lifted, too."""
    for name in calls.__all__:
        if name != "Call":
            yield name, getattr(calls, name)(**given_to(getattr(calls, name)))
    yield "set_limit", calls.set_limit("x", None)
    yield "set_rate", calls.set_rate("x", None)
    yield "set_share", calls.set_share("x", None)
    yield "set_weight", calls.set_weight("x", None)
    for name in ("events", "output"):
        yield name, getattr(streams, name)(**given_to(getattr(streams, name)))
    yield "items_file", items_file(**given_to(items_file))


def route_of(call: Call[Any] | Stream[Any] | Export) -> str:
    """The route of the document that it is for."""
    method = call.method if isinstance(call, Call) else "GET"
    fitting = [
        path
        for path, operations in DOCUMENT["paths"].items()
        if method.lower() in operations and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), call.path)
    ]
    # A path without parameters is meant before one with.
    return f"{method} {min(fitting, key=lambda path: path.count('{'))}"


MADE: Final = [(name, route_of(call), call) for name, call in made()]
ROUTES: Final = {
    f"{method.upper()} {path}": operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}


def test_each_route_has_a_call() -> None:
    called = {route for _, route, _ in MADE}
    # What admins have under a path of their own, they have under the other one, too.
    meant = {route.replace(ADMINS, "/api/v1/") for route in ROUTES}
    assert meant - called == ONLY_OF_BROWSERS
    assert called & ONLY_OF_BROWSERS == set()


def unlike(call: Call[Any] | Stream[Any] | Export, operation: dict[str, Any]) -> list[str]:
    """What of a route's parameters a call has not, or has besides."""
    parameters = operation.get("parameters", [])
    named = {where: {each["name"] for each in parameters if each["in"] == where} for where in ("query", "header")}
    wrong = [f"query {name}" for name in named["query"] ^ set(call.query)]
    if isinstance(call, Call):
        # A stream's are the client's own, with which it goes on; a trace's are those of who instruments the client.
        sent = {name.lower() for name in call.headers}
        wrong += [f"header {name}" for name in (named["header"] - OF_TRACES) ^ sent]
        if ("requestBody" in operation) != (call.body is not None or call.content is not None):
            wrong.append("body")
        answer = call.answer.__name__
        if answer != "Nothing" and answer not in str(operation["responses"]):
            wrong.append(f"answer {answer}")
    return wrong


def test_each_call_has_all_parameters_of_its_route() -> None:
    assert {name: wrong for name, route, call in MADE if (wrong := unlike(call, ROUTES[route]))} == {}


def test_a_call_that_is_not_like_its_route_is_found() -> None:
    call = calls.submit({"command": ["x"]}, "k")
    another: dict[str, Any] = {"parameters": [{"in": "query", "name": "new"}], "responses": {}}
    assert unlike(call, another) == ["query new", "header idempotency-key", "body", f"answer {call.answer.__name__}"]


def test_files_are_sent_as_files_and_their_fields_as_fields() -> None:
    request = request_of(calls.upload(b"print()", {"priority": "LOW", "scheduled_at": NOW}, "k", "x.py"))
    assert request["files"] == {"script": ("x.py", b"print()")}
    assert '"priority": "LOW"' in request["data"]["submission"]
    assert NOW.date().isoformat() in request["data"]["submission"]


def test_both_clients_have_the_same_methods_with_the_same_signatures() -> None:
    def of(kind: type) -> dict[str, list[str]]:
        public = inspect.getmembers(kind, inspect.isfunction)
        return {
            name: [str(each) for each in inspect.signature(one).parameters.values()]
            for name, one in public
            if not name.startswith("_") or name == "__init__"
        }

    assert of(Client) == of(AsyncClient)
    assert {"submit", "upload", "send", "pages", "events", "output", "follow", "close"} <= set(of(Client))


def test_neither_token_nor_payload_is_in_what_a_program_shows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    token = "bm_0123456789ab_" + "S" * 43
    with Client("http://ann:hunter2@127.0.0.1:1", token) as client:
        shown = f"{client} {client!r} {client._http!r}"  # pyright: ignore[reportPrivateUsage]
        assert "http://" in shown
        call = calls.submit({"script": "hunter2"}, "k")
        shown += repr(call) + repr(calls.upload(b"hunter2", {}, "k"))
        with pytest.raises(Exception, match="did not answer") as raised:
            client.send(calls.plan_bulk({"action": "cancel", "reason": "hunter2"}))
        shown += str(raised.value) + caplog.text
    assert "SSSS" not in shown
    assert "hunter2" not in shown


def test_a_refusal_is_of_the_kind_that_its_code_stands_for() -> None:
    kinds = {
        "forbidden": "NotAllowed",
        "not_found": "NotFound",
        "not_pending": "WrongState",
        "changed_meanwhile": "ChangedMeanwhile",
        "invalid": "Invalid",
        "queue_full": "TooMany",
    }
    problems = {code: problem_of(400, code, "why") for code in kinds}
    assert {code: type(problem).__name__ for code, problem in problems.items()} == kinds
    assert all(isinstance(problem, ApiProblem) for problem in problems.values())
    assert type(problem_of(400, "of_a_later_release", "why")) is ApiProblem


def test_an_answer_is_a_document() -> None:
    assert all(issubclass(call.answer, BaseModel) for _, _, call in MADE if isinstance(call, Call))
