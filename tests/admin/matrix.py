"""What the authorisation matrix asks: the routes that the OpenAPI document has, and an API that has all they name."""

from dataclasses import dataclass
from typing import Any, Final

import httpx
import redis
from calling import V1, Api, signed_in
from needed_scopes import NEEDED
from sqlalchemy import select, update

from bandmaster.admin.api import cookies
from bandmaster.admin.api.item_requests import NewQueue
from bandmaster.admin.auth.scopes import Scope
from bandmaster.admin.describing import described
from bandmaster.items.bounds import LEASE_MAX_SECONDS
from bandmaster.items.claiming import Claim
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import item_queues, metadata, queue_items, tokens, triggers
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.model.states import State

DOCUMENT: Final = described()
SIGNING_IN: Final = {("post", f"{V1}/session"), *(("get", f"{V1}/session/oidc{each}") for each in ("", "/callback"))}
OPEN: Final = {("get", "/healthz"), ("get", "/readyz")} | SIGNING_IN
METHODS: Final = ("get", "put", "post", "patch", "delete")
ROUTES: Final = [(method, path) for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item]
ASKED: Final = [route for route in ROUTES if route not in OPEN]
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


def changes_one(method: str, path: str) -> bool:
    return "{execution_id}" in path and method != "get"


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


@dataclass(frozen=True)
class Answer:
    """What a route answered."""

    status: int
    code: str
    text: str

    @classmethod
    def of(cls, client: httpx.Client, method: str, url: str, **given: Any) -> "Answer":
        """Ask for it."""
        answer = asked(client, method, url, **given)
        if answer.status_code < 400:
            return cls(answer.status_code, "", "")
        return cls(answer.status_code, answer.json()["code"], answer.json()["detail"])

    @property
    def is_right(self) -> bool:
        """Whether the caller got in."""
        return self.status < 300 or self.code in ENDS

    @property
    def is_forbidden(self) -> bool:
        return (self.status, self.code) == (403, "forbidden")


class Kept:
    """What Redis and the ledger have, to be put back: in some ms, where filling them takes hundreds."""

    def __init__(self, client: redis.Redis, database: Database) -> None:
        self._client = client
        self._database = database
        keys: Any = client.keys()
        self._values: list[tuple[bytes, int, Any]] = [
            (key, max(0, int(client.pttl(key))), client.dump(key)) for key in keys
        ]
        self._rows = self.rows()

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """What the ledger has."""
        with self._database.reading() as connection:
            return {
                table.name: [dict(row) for row in connection.execute(select(table)).mappings()]
                for table in metadata.sorted_tables
            }

    def put_back(self) -> None:
        with self._client.pipeline() as pipeline:
            pipeline.flushdb()
            for key, left_ms, value in self._values:
                pipeline.restore(key, left_ms, value)
            pipeline.execute()
        with self._database.writing() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
            for table in metadata.sorted_tables:
                if self._rows[table.name]:
                    connection.execute(table.insert(), self._rows[table.name])


class Filled:
    """An API with executions of ann, bob and nobody, waiting and dead, and ann's tokens and sessions of all scopes."""

    def __init__(self, api: Api, client: redis.Redis) -> None:
        self.api = api
        self.queue = api.queue
        fill(api)
        self.clients: dict[tuple[Scope, str], httpx.Client] = {}
        for scope in Scope:
            token = api.token("ann", scope)
            with signed_in(api, token) as signed:
                session = {"Cookie": f"{cookies.NAME}={signed.cookies[cookies.NAME]}"}
                session[cookies.CSRF_HEADER] = signed.headers[cookies.CSRF_HEADER]
            for way, headers in (("token", {"Authorization": f"Bearer {token}"}), ("session", session)):
                self.clients[scope, way] = httpx.Client(base_url=api.url, headers=headers, timeout=60)
        self.kept = Kept(client, api.database)

    def answer(self, scope: Scope, way: str, method: str, path: str, execution_id: str = "own") -> Answer:
        """What somebody is answered; what that changed is put back."""
        url = filled(path, execution_id)
        answer = Answer.of(self.clients[scope, way], method, url, **sent_to(method, path), headers={"If-Match": "*"})
        if answer.status < 400 and (method != "get" or path.endswith("/queue-items/next")):
            self.kept.put_back()
        return answer

    def now(self) -> object:
        """What nobody changes who is not let in: what is journalled, waits and is paused, and the ledger."""
        rows = self.kept.rows()
        # When a token was last used.
        del rows[tokens.name]
        status = self.queue.get_queue_status()["queue_depth"]
        return Follower(self.queue.scripts).end(), status, list(self.queue.controls.paused()), rows


def fill(api: Api) -> None:
    never = Schedule.of({"name": NAMES["name"], "cron": "0 0 1 1 *", "command": ["true"]})
    api.queue.schedules.put(never, paused=True)
    kinds = (("own", "ann"), ("bobs", "bob"), ("nobodys", None))
    for name, user in kinds:
        api.queue.enqueue({"execution_id": f"{name}-dead", "command": ["true"], "metadata": {"user_id": user}})
        api.queue.try_schedule()
        died = Release(f"{name}-dead", 1, State.FAILED, reason="crashed", result=b'{"exit_code": 1}', dead=True)
        api.queue.transitions.settle(died)
    for name, user in kinds:
        api.queue.enqueue(
            {"execution_id": name, "command": ["true"], "action": "resize", "metadata": {"user_id": user}}
        )
    api.catch_up()
    items = api.services.items
    settings = NewQueue(name="invoices", lease_seconds=LEASE_MAX_SECONDS).model_dump()
    queue = items.queues.create(by="ann", **settings)
    items.adding.add(queue, by="ann")
    items.triggers.create("book", type=TriggerType.TIME, by="ann", cron="0 0 1 1 *", command=("true",))
    (item,) = items.claiming.claim(Claim(queue.queue_id, "ann"))
    with api.database.writing() as connection:
        connection.execute(update(queue_items).values(item_id="item-1", claim_key=item.item_id))
        for table in (item_queues, triggers):
            connection.execute(update(table).values(notify_url="https://hooks.example/"))
