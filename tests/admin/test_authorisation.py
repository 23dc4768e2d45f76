"""Every route that the OpenAPI document has, with every scope, on one's own, another's and nobody's execution.

A route that is new is asked like all others; one whose rule ``needed_scopes.py`` does not know fails.
"""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
import redis
from calling import V1, Api, served, signed_in
from databases import MadeFor
from needed_scopes import NEEDED
from sqlalchemy import update

from bandmaster.admin.api import cookies
from bandmaster.admin.api.item_requests import NewQueue
from bandmaster.admin.auth.scopes import INCLUDED, Scope
from bandmaster.admin.describing import described
from bandmaster.items.claiming import Claim
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.schema.tables import item_queues, metadata, queue_items, triggers
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.states import State

DOCUMENT: Final = described()
SIGNING_IN: Final = {("post", f"{V1}/session"), *(("get", f"{V1}/session/oidc{each}") for each in ("", "/callback"))}
OPEN: Final = {("get", "/healthz"), ("get", "/readyz")} | SIGNING_IN
METHODS: Final = ("get", "put", "post", "patch", "delete")
ROUTES: Final = [(method, path) for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item]
OF_ONE: Final = [(method, path) for method, path in ROUTES if "{execution_id}" in path]
STREAMS: Final = [
    path
    for path, item in DOCUMENT["paths"].items()
    if "text/event-stream" in item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
]
PAYLOADS: Final = ("/payload", "/logs", "/logs/follow", "/result")
BODIES: Final[dict[str, Any]] = {
    "submit": {"command": ["true"]},
    "move": {"priority": "LOW"},
    "set_limit": {"limit": 1},
    "set_share": {"kind": "user"},
    "set_weight": {"weight": 2},
    "set_schedule": {"cron": "0 0 1 1 *", "command": ["true"]},
    "set_rate": {"rate": "1/s"},
    "change_setting": {"value": 5},
    "create_token": {"owner": "new", "scopes": ["read"]},
    "plan_bulk": {"action": "cancel"},
    "change_bulk": {"ticket": "none"},
    "add_item": {"queue_name": "invoices"},
    "add_item_by_name": {"queue_name": "invoices"},
    "claim_items": {"queue_name": "invoices", "robot_id": "ann"},
    "settle_item": {"status": "DONE", "robot_id": "ann"},
    "edit_item": {"priority": 3},
    "create_item_queue": {"name": "other"},
    "change_item_queue": {"max_retries": 3},
    "create_trigger": {"name": "other", "type": "TIME", "cron": "0 0 1 1 *", "command": ["true"]},
    "change_trigger": {"enabled": False},
}
ENDS: Final = ("not_found", "in_use", "ended", "queue_has_items")
NAMES: Final = {
    "gate": "tenant:1",
    "name": "max_queue_size",
    "ref": "resize",
    "token_id": "none",
    "lane": "executions",
} | {
    "queue": "invoices",
    "item_id": "item-1",
    "trigger": "book",
    "notification": "none",
}


def operation_of(method: str, path: str) -> dict[str, Any]:
    return DOCUMENT["paths"][path][method]


def needed_of(method: str, path: str) -> set[Scope]:
    """What it has to need, whatever it says."""
    operation = operation_of(method, path)["operationId"]
    needed = {NEEDED[operation.removeprefix("admin_")]}
    return needed | {Scope.ADMIN} if path.startswith(f"{V1}/admin/") else needed


def body_of(method: str, path: str) -> Any:
    return BODIES.get(operation_of(method, path)["operationId"].removeprefix("admin_"))


def sent_to(method: str, path: str) -> dict[str, Any]:
    if path.endswith("/items/upload"):
        return {"content": b"{}\n"}
    if path.endswith("/upload"):
        return {"files": {"script": ("job.sh", b"true")}}
    if method == "get" and path.endswith("/queue-items/next"):
        return {"params": {"queue_name": "invoices", "robot_id": "ann"}}
    if path.endswith("/held"):
        return {"params": {"robot_id": "ann"}}
    return {"json": body_of(method, path)}


def filled(path: str, execution_id: str = "own") -> str:
    if path.startswith(f"{V1}/pauses/"):
        return path.replace("{name}", "tenant:1")
    return path.format(execution_id=execution_id, **NAMES)


def asked(client: httpx.Client, method: str, url: str, **given: Any) -> httpx.Response:
    """What is answered; of a stream, its beginning."""
    if "content" in given:
        given["headers"] = {"Content-Type": "application/x-ndjson"} | given.get("headers", {})
    with client.stream(method, url, **given) as answer:
        if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            next(answer.iter_bytes())
        else:
            answer.read()
        return answer


@pytest.fixture(scope="module")
def one_api(redis_url: str, tmp_path_factory: pytest.TempPathFactory, made_ledger: MadeFor) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("api")
    with redis.Redis.from_url(redis_url) as client:
        client.flushdb()
        yield from served(client, made_ledger("sqlite", folder), folder)


@pytest.fixture
def filled_api(one_api: Api, redis_client: redis.Redis) -> Api:
    """Each kind of execution: waiting and dead, ann's, bob's and nobody's. There are far more tests than servers."""
    with one_api.database.writing() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    one_api.consumer.begin()
    never = Schedule.of({"name": NAMES["name"], "cron": "0 0 1 1 *", "command": ["true"]})
    one_api.queue.schedules.put(never, paused=True)
    kinds = (("own", "ann"), ("bobs", "bob"), ("nobodys", None))
    for name, user in kinds:
        one_api.queue.enqueue({"execution_id": f"{name}-dead", "command": ["true"], "metadata": {"user_id": user}})
        one_api.queue.try_schedule()
        died = Release(f"{name}-dead", 1, State.FAILED, reason="crashed", result=b'{"exit_code": 1}', dead=True)
        one_api.queue.transitions.settle(died)
    for name, user in kinds:
        one_api.queue.enqueue(
            {"execution_id": name, "command": ["true"], "action": "resize", "metadata": {"user_id": user}}
        )
    one_api.catch_up()
    items = one_api.services.items
    settings = NewQueue(name="invoices").model_dump()
    queue = items.queues.create(by="ann", **settings)
    items.adding.add(queue, by="ann")
    items.triggers.create("book", type=TriggerType.TIME, by="ann", cron="0 0 1 1 *", command=("true",))
    (item,) = items.claiming.claim(Claim(queue.queue_id, "ann"))
    with one_api.database.writing() as connection:
        connection.execute(update(queue_items).values(item_id="item-1", claim_key=item.item_id))
        for table in (item_queues, triggers):
            connection.execute(update(table).values(notify_url="https://hooks.example/"))
    return one_api


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_each_route_says_what_it_needs(method: str, path: str) -> None:
    if (method, path) in OPEN:
        assert "security" not in operation_of(method, path)
        return
    by_token, by_session = operation_of(method, path)["security"]
    assert by_token["token"] == by_session["session"]
    assert {Scope(each) for each in by_token["token"]} == needed_of(method, path)


def test_no_rule_is_left_of_a_route_that_is_gone() -> None:
    operations = {operation_of(*route)["operationId"].removeprefix("admin_") for route in ROUTES if route not in OPEN}
    assert set(NEEDED) == operations


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route not in OPEN])
def test_nobody_gets_in_without_a_token_that_is_valid(filled_api: Api, method: str, path: str) -> None:
    wrong = filled_api.token("ann", "admin")
    for token in (None, "x", "bm_x_y", wrong[:-1] + ("A" if wrong[-1] != "A" else "B"), wrong.upper()):
        with filled_api.client(token) as client:
            answer = asked(client, method, filled(path), **sent_to(method, path))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), token
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert not list(filled_api.queue.controls.paused())
    assert filled_api.queue.get_queue_status()["queue_depth"] == 3


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route not in OPEN])
def test_nobody_gets_in_by_a_cookie_that_is_no_session(filled_api: Api, method: str, path: str) -> None:
    for cookie in ("", "x", "A" * 43, filled_api.token("ann", "admin")):
        with filled_api.client(None, Cookie=f"{cookies.NAME}={cookie}") as client:
            answer = asked(client, method, filled(path), **sent_to(method, path))
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized"), cookie
    assert filled_api.queue.get_queue_status()["queue_depth"] == 3


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route not in OPEN and route[0] != "get"])
def test_nothing_is_changed_by_a_cookie_alone(filled_api: Api, method: str, path: str) -> None:
    with signed_in(filled_api, filled_api.token("ann", "admin")) as client:
        told = client.headers.pop(cookies.CSRF_HEADER)
        with signed_in(filled_api, filled_api.token("ann", "admin")) as another:
            for wrong in ("", "x", told + "x", another.headers[cookies.CSRF_HEADER]):
                headers = {cookies.CSRF_HEADER: wrong} if wrong else {}
                answer = asked(client, method, filled(path), **sent_to(method, path), headers=headers)
                assert (answer.status_code, answer.json()["code"]) == (403, "csrf_token_needed"), wrong
        assert client.get(f"{V1}/session").status_code == 200
    assert not list(filled_api.queue.controls.paused())
    assert filled_api.queue.get_queue_status()["queue_depth"] == 3


@pytest.mark.parametrize("way", ["token", "session"])
@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if route not in OPEN])
def test_a_scope_opens_what_it_includes_and_nothing_else(
    filled_api: Api, scope: Scope, method: str, path: str, way: str
) -> None:
    may = needed_of(method, path) <= INCLUDED[scope]
    changes_one = "{execution_id}" in path and method != "get"
    if scope is Scope.READ and (changes_one or path.endswith("/bulk/plan")):
        may = False
    if path.endswith(PAYLOADS) and scope is Scope.OPERATE:
        # It sees everybody's, and reads nobody's but its own.
        may = may and "/admin/" not in path
    execution_id = "own-dead" if path.endswith(("/retry", "/dead")) and changes_one else "own"
    if path.endswith("/queue-items/next"):
        # Of old, and it changes something: whoever is signed in by a cookie may not.
        may = may and (method == "post" or way == "token")
    token = filled_api.token("ann", scope)
    with filled_api.client(token) if way == "token" else signed_in(filled_api, token) as client:
        url = filled(path, execution_id)
        answer = asked(client, method, url, **sent_to(method, path), headers={"If-Match": "*"})
    if may:
        assert answer.status_code < 300 or answer.json()["code"] in ENDS, answer.text
    else:
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), answer.text


@pytest.mark.parametrize("whose", ["bobs", "nobodys"])
@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize(("method", "path"), OF_ONE)
def test_an_execution_of_another_is_there_for_operators_only(
    filled_api: Api, whose: str, scope: Scope, method: str, path: str
) -> None:
    execution_id = f"{whose}-dead" if path.endswith(("/retry", "/dead", "/result")) else whose
    with filled_api.client(filled_api.token("ann", scope)) as client:
        answer = asked(client, method, filled(path, execution_id), **sent_to(method, path))
    if not needed_of(method, path) <= INCLUDED[scope]:
        assert answer.status_code == 403
    elif scope is Scope.ADMIN:
        assert answer.status_code < 300, answer.text
    elif scope is Scope.OPERATE:
        assert answer.status_code == (403 if path.endswith(PAYLOADS) else answer.status_code)
        assert answer.status_code < 300 or path.endswith(PAYLOADS), answer.text
    else:
        # As if it did not exist.
        unknown = f"{execution_id}x"
        with filled_api.client(filled_api.token("ann", scope)) as client:
            of_none = asked(client, method, filled(path, unknown), **sent_to(method, path))
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert answer.json()["detail"].replace(execution_id, unknown) == of_none.json()["detail"]
    if scope not in (Scope.ADMIN, Scope.OPERATE):
        assert filled_api.queue.views.meta(whose)["state"] == "PENDING"
        assert filled_api.queue.views.is_dead(f"{whose}-dead")


@pytest.mark.parametrize("scope", [Scope.READ, Scope.SUBMIT])
def test_lists_and_counts_show_no_other_user(filled_api: Api, scope: Scope) -> None:
    filled_api.queue.controls.set_limit("user:bob", 0)
    with filled_api.client(filled_api.token("ann", scope)) as client:
        for method, path in ROUTES:
            if method != "get" or (method, path) in OPEN or not needed_of(method, path) <= INCLUDED[scope]:
                continue
            if path in STREAMS:
                continue  # tests/admin/test_api_events.py and test_following_output.py
            text = client.get(filled(path)).text
            assert "bob" not in text, path
            assert "nobodys" not in text, path
        assert client.get(f"{V1}/executions/", params={"user": "bob"}).status_code == 403
        listed = client.get(f"{V1}/executions/", params={"text": "o", "total": True}).json()
        assert {each["execution_id"] for each in listed["executions"]} == {"own", "own-dead"}
        assert listed["total"] == 2
