"""The client, blocking and for asyncio: each call against a real API, refusals, and an API that is away."""

import contextlib
import socket
import threading
from datetime import UTC, datetime, timedelta
from typing import Final

import httpx
import pytest
from both_clients import OF_ITEMS, Ask, ask
from calling import V1, Api, api_with

from bandmaster.admin.client import wire
from bandmaster.client import ApiProblem, ApiUnavailable, AsyncClient, Client, calls
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.states import State

__all__ = ["ask"]

ECHO: Final = ["echo", "hello"]


def test_each_call_is_answered_with_its_document(api: Api, ask: Ask) -> None:
    for name in ("x", "dead", "letter"):
        api.queue.enqueue({"execution_id": name, "command": ECHO, "metadata": {"user_id": "ann"}})
    api.queue.transitions.admit(("executions",), 3)
    for name in ("dead", "letter"):
        api.queue.transitions.settle(Release(name, 1, State.FAILED, reason="crashed", dead=True))
    api.queue.transitions.settle(Release("x", 1, State.COMPLETED, result=b'{"exit_code": 0}'))
    api.queue.enqueue({"execution_id": "waits", "command": ECHO, "metadata": {"user_id": "ann"}})
    api.queue.enqueue({"execution_id": "gone", "command": ECHO, "action": "unused", "metadata": {"user_id": "ann"}})
    api.queue.cancel("gone")
    api.catch_up()
    asked = {
        "submit": calls.submit({"command": ECHO}, "key-1"),
        "executions": calls.executions(status=["PENDING"], accepted_from=datetime(2001, 1, 1, tzinfo=UTC), total=True),
        "living": calls.living("waiting", user="ann", lane="executions", priority=["NORMAL"], limit=1),
        "show": calls.show("waits"),
        "timeline": calls.timeline("x"),
        "waits": calls.waits("x"),
        "payload": calls.payload("waits"),
        "result": calls.result("x"),
        "logs": calls.logs("x", 100),
        "move": calls.move("waits", "HIGH"),
        "cancel": calls.cancel("waits", "not needed"),
        "retry": calls.retry("dead"),
        "dead": calls.dead(),
        "queue": calls.queue(),
        "plan_bulk": calls.plan_bulk({"action": "cancel"}),
        "actions": calls.actions(),
        "queue_stats": calls.queue_stats("pod"),
        "users": calls.users(),
        "waited": calls.waited("gate"),
        "workers": calls.workers(),
        "shards": calls.shards(),
        "drop": calls.drop("letter"),
        "drop_action": calls.drop_action("unused"),
        "set_limit": calls.set_limit("tenant:a/b", 2),
        "limit": calls.limit("tenant:a/b"),
        "limits": calls.limits(),
        "set_rate": calls.set_rate("tenant:a/b", "120/2m burst 5"),
        "rate": calls.rate("tenant:a/b"),
        "rates": calls.rates(),
        "set_share": calls.set_share("letters", "user"),
        "share": calls.share("letters"),
        "shares": calls.shares(),
        "set_weight": calls.set_weight("user:ann", 10),
        "weight": calls.weight("user:ann"),
        "weights": calls.weights(),
        "set_schedule": calls.set_schedule("nightly", {"cron": "0 3 * * *", "command": ["true"]}),
        "schedule": calls.schedule("nightly"),
        "schedules": calls.schedules(),
        "next_times": calls.next_times("nightly", 3),
        "pause_schedule": calls.pause_schedule("nightly"),
        "resume_schedule": calls.resume_schedule("nightly"),
        "run_schedule": calls.run_schedule("nightly", "key-3"),
        "remove_schedule": calls.remove_schedule("nightly"),
        "gates": calls.gates(),
        "lanes": calls.lanes(),
        "demand": calls.demand("executions"),
        "pause": calls.pause("tenant:a/b"),
        "paused": calls.paused(),
        "resume": calls.resume("tenant:a/b"),
        "settings": calls.settings(),
        "change_setting": calls.change_setting("max_queue_size", 77, None, "*"),
        "setting": calls.setting("max_queue_size"),
        "reset_setting": calls.reset_setting("max_queue_size", None, 77),
        "audit": calls.audit(limit=5),
        "tokens": calls.tokens(),
        "create_token": calls.create_token("ann", ["read"], expires_at=datetime(2999, 1, 1, tzinfo=UTC)),
        "upload": calls.upload(b"print()", {"priority": "LOW"}, "key-2", "job.py"),
        "health": calls.health(),
        "readiness": calls.readiness(),
        "whoami": calls.whoami(),
        "create_trigger": calls.create_trigger("tidy", "TIME", ECHO, cron="0 0 1 1 *"),
        "triggers": calls.triggers(),
        "notifications": calls.notifications(),
        "change_trigger": calls.change_trigger("tidy", {"enabled": False}, 1),
        "trigger": calls.trigger("tidy"),
        "delete_trigger": calls.delete_trigger("tidy"),
    }
    got = {name: ask(call) for name, call in asked.items()}
    assert got["executions"].total == 1
    assert [each.execution_id for each in got["living"].executions] == ["waits"]
    assert got["show"].state == "PENDING"
    assert got["payload"].event["command"] == ECHO
    assert [step.verb for step in got["timeline"].steps] == ["park", "admit", "release"]
    assert [(wait.attempt, wait.ended_by) for wait in got["waits"].waits] == [(1, "admit")]
    assert got["cancel"].state == "CANCELLED"
    assert got["set_limit"].limit == 2
    assert got["set_rate"].rate == got["rate"].rate == "120/2m burst 5"
    assert [each.gate for each in got["rates"].rates] == ["tenant:a/b"]
    assert [(each.lane, each.kind) for each in got["shares"].shares] == [("letters", "user")]
    assert got["set_share"].kind == got["share"].kind == "user"
    assert got["set_weight"].weight == got["weight"].weight == got["weights"].weights[0].weight == 10
    assert ask(calls.set_share("letters", None)).kind is None
    assert ask(calls.set_weight("user:ann", None)).weight == 1
    assert got["set_schedule"].command == got["schedule"].command == ["true"]
    assert [each.name for each in got["schedules"].schedules] == ["nightly"]
    assert len(got["next_times"].times) == 3
    assert got["pause_schedule"].changed
    assert got["resume_schedule"].changed
    assert got["run_schedule"].execution_id.startswith("schedule:nightly:run-")
    assert got["remove_schedule"].declared is False
    assert "tenant:a/b" in got["paused"].paused
    assert got["change_setting"].value == got["setting"].value == 77
    assert got["reset_setting"].value != 77
    assert got["whoami"].owner == "root"
    assert [each.name for each in got["triggers"].triggers] == ["tidy"]
    assert (got["trigger"].enabled, got["trigger"].command, got["trigger"].revision) == (False, ECHO, 2)
    assert got["delete_trigger"].live_jobs == 0
    done = ask(calls.change_bulk(got["plan_bulk"].ticket))
    assert done.changed == got["plan_bulk"].count == 2
    assert ask(calls.set_limit("tenant:a/b", None)).limit is None
    assert ask(calls.set_rate("tenant:a/b", None)).rate is None
    assert {*calls.__all__} == {*asked, *OF_ITEMS, "change_bulk", "revoke_token", "Call"}
    assert ask(calls.revoke_token(got["create_token"].token_id)).revoked_at is not None


def test_a_refusal_is_an_error_with_its_code(ask: Ask) -> None:
    with pytest.raises(ApiProblem) as raised:
        ask(calls.show("nobody"))
    assert (raised.value.status, raised.value.code) == (404, "not_found")
    with pytest.raises(ApiProblem) as raised:
        ask(calls.submit({"command": ECHO, "priority": "SOON"}, "k"))
    assert (raised.value.code, raised.value.field) == ("invalid", "priority")
    with pytest.raises(ApiProblem, match=r"changed_meanwhile"):
        ask(calls.change_setting("max_queue_size", 5, None, 1))


def test_it_submits_once_however_often_it_has_to_send(api: Api) -> None:
    """A proxy swallows the first answer: the client sends again, and the execution is one."""
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        seen = list[bytes]()

        def forward() -> None:
            for number in range(2):
                with contextlib.suppress(OSError):
                    caller, _ = listening.accept()
                    with caller, socket.create_connection((host, int(port))) as server:
                        request = caller.recv(65_536)
                        while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                            request += caller.recv(65_536)
                        seen.append(request)
                        server.sendall(request)
                        answer = b""
                        # Its head and its body may come one after the other.
                        while not answer.endswith(b"}"):
                            answer += server.recv(65_536)
                        if number:
                            caller.sendall(answer)

        thread = threading.Thread(target=forward, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with Client(url, api.token("ann", "submit")) as client:
            accepted = client.submit(command=ECHO)
        thread.join(30)
    assert len(seen) == 2
    assert api.queue.views.pending() == [accepted.execution_id]


ASKED_FOR: Final[list[tuple[dict[str, str], float | None]]] = [
    ({}, 1.0),
    ({"Retry-After": "7"}, 7.0),
    ({"Retry-After": "0"}, 1.0),
    ({"Retry-After": "3600"}, None),
]


def test_it_waits_as_long_as_the_api_asks_for(subtests: pytest.Subtests) -> None:
    for headers, seconds in ASKED_FOR:
        with subtests.test(headers=headers, seconds=seconds):
            busy = httpx.Response(503, headers=headers)
            assert wire.pause_seconds(calls.whoami(), 2, busy, 60) == seconds
            assert wire.pause_seconds(calls.whoami(), wire.TRIES, busy, 60) is None
            once = calls.plan_bulk({"action": "cancel"})
            assert wire.pause_seconds(once, 1, busy, 60) is None, "it is not to be repeated"
            full = httpx.Response(429, headers=headers, json={"code": "queue_full"})
            assert wire.pause_seconds(calls.whoami(), 2, full, 60) is None
            often = httpx.Response(429, headers=headers, json={"code": "rate_limited"})
            assert wire.pause_seconds(calls.plan_bulk({"action": "cancel"}), 2, often, 60) == seconds, (
                "it was not carried out"
            )


def test_it_waits_no_longer_than_its_caller_allows(api: Api) -> None:
    asked = httpx.Response(429, headers={"Retry-After": "4"}, json={"code": "rate_limited"})
    assert wire.pause_seconds(calls.whoami(), 1, asked, 5.0) == 4.0
    assert wire.pause_seconds(calls.whoami(), 1, asked, 3.0) is None
    with (
        api_with(api, requests_per_minute=1) as limited,
        Client(limited.url, limited.token("ann", "read"), timeout_seconds=30) as client,
    ):
        client.send(calls.whoami())
        with pytest.raises(ApiProblem, match="rate_limited"):
            client.send(calls.whoami())  # it would have to wait for most of a minute


def test_what_is_not_ready_yet_is_asked_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "AGAIN_SECONDS", 0.01)
    token = api.token("ann", "read")
    with api.client(token) as client:
        document = client.get(f"{V1}/whoami").content
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            for status, body in ((b"503 Service Unavailable", b"{}"), (b"200 OK", document)):
                caller, _ = listening.accept()
                with caller:
                    caller.recv(65_536)
                    head = b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                    caller.sendall(head % len(body) + body)

        threading.Thread(target=answer, daemon=True).start()
        with Client(f"http://127.0.0.1:{listening.getsockname()[1]}", token) as client:
            assert client.send(calls.whoami()).owner == "ann"


def test_a_wrong_url_is_told_at_once() -> None:
    for url in ("", "127.0.0.1:8640", "ftp://127.0.0.1", "http://", "bandmaster.example", "http://[::1"):
        for kind in (Client, AsyncClient):
            with pytest.raises(InvalidRequest, match=r"^url: .* is none; allowed: like https://bandmaster\.example"):
                kind(url, "bm_x_y")


def test_a_wrong_token_is_told_at_once_and_not_shown() -> None:
    for token in ("", " ", "bm_x y", "bm_x_grüße", "bm_x_\x00"):
        with pytest.raises(InvalidRequest, match=r"^token: it cannot be one; allowed: what `bandmaster token create`"):
            Client("http://127.0.0.1:1", token)


def test_url_and_token_may_be_as_files_and_examples_have_them(api: Api) -> None:
    with Client(f" {api.url}/api/v1/ ", api.token("ann", "read") + "\n") as client:
        assert client.send(calls.whoami()).owner == "ann"


def test_values_of_python_are_sent_as_json_has_them(api: Api) -> None:
    with Client(api.url, api.token("ann", "submit")) as client:
        later = datetime.now(UTC) + timedelta(hours=1)
        assert client.submit(command=ECHO, scheduled_at=later).state == "SCHEDULED"
        with pytest.raises(InvalidRequest, match="Idempotency-Key"):
            client.submit(command=ECHO, idempotency_key="é\n")
        with pytest.raises(InvalidRequest, match="execution_id"):
            calls.show("")


def test_a_body_that_is_too_long_is_refused_and_not_taken_for_an_api_that_is_away(api: Api) -> None:
    with Client(api.url, api.token("ann", "submit")) as client:
        for _ in range(3):
            with pytest.raises(ApiProblem) as raised:
                client.submit(script="#" * 8_000_000)
            assert (raised.value.status, raised.value.code) == (413, "too_large")


def test_an_api_that_is_away_is_told_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "TRIES", 1)
    with (
        Client("http://127.0.0.1:1", "bm_x_y") as client,
        pytest.raises(ApiUnavailable, match=r"http://127\.0\.0\.1:1"),
    ):
        client.send(calls.whoami())


def test_something_else_that_answers_is_not_taken_for_it(redis_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            caller, _ = listening.accept()
            with caller:
                caller.recv(65_536)
                caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhtml")

        threading.Thread(target=answer, daemon=True).start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with Client(url, "bm_x_y") as client, pytest.raises(ApiUnavailable, match="not one of the API's"):
            client.send(calls.whoami())
