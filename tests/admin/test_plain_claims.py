"""A claim is answered alike whether its route reads the request by itself or leaves it to the framework."""

from typing import Any

import httpx
import pytest
from calling import V1, Api, api_with

NEXT = f"{V1}/queue-items/next"
PLAIN = "application/json"
BY_FRAMEWORK = "application/json; charset=utf-8"
WANTED = b'{"queue_name": "invoices"}'
WRONG = {
    "no body": b"",
    "no JSON": b'{"queue_name": ',
    "no object": b"[]",
    "null": b"null",
    "nested too deep": b"[" * 20_000,
    "a field twice": b'{"queue_name": "invoices", "queue_name": "invoices"}',
    "an unknown field": b'{"queue_name": "invoices", "robot": "desk-7"}',
    "a count out of bounds": b'{"queue_name": "invoices", "count": 0}',
    "a count that is a text": b'{"queue_name": "invoices", "count": "1"}',
    "no queue": b"{}",
    "an unknown queue": b'{"queue_name": "none"}',
    "another robot": b'{"queue_name": "invoices", "robot_id": "desk-8"}',
}


def ask(client: httpx.Client, media_type: str, body: bytes, **headers: str) -> httpx.Response:
    given = {"Content-Type": media_type} | {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(NEXT, content=body, headers=given)


def told(answer: httpx.Response) -> tuple[int, bytes, dict[str, Any]]:
    """All of an answer but what differs with each."""
    differs = {"x-request-id", "ratelimit", "date"}
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k not in differs}


def test_what_is_taken_is_told_alike(api: Api) -> None:
    with api.client(api.token("root", "admin")) as root, api.client(api.token("desk-7", "robot")) as robot:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        payload = {"text": "Ünïcödé </script> \u2028", "number": 1.5, "none": None, "nested": [[1], {"a": True}]}
        added = root.post(f"{V1}/queue-items", json={"queue_name": "invoices", "payload": payload, "reference": "7"})
        assert added.status_code == 201
        first = ask(robot, PLAIN, WANTED, Idempotency_Key="k")
        assert first.json()["items"][0]["payload"] == payload
        assert told(ask(robot, BY_FRAMEWORK, WANTED, Idempotency_Key="k")) == told(first)
        assert told(ask(robot, PLAIN, WANTED)) == told(ask(robot, BY_FRAMEWORK, WANTED))


def test_what_is_wrong_is_told_alike(api: Api, subtests: pytest.Subtests) -> None:
    with api.client(api.token("root", "admin")) as root, api.client(api.token("desk-7", "robot")) as robot:
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        for what, body in WRONG.items():
            with subtests.test(what):
                refused = ask(robot, PLAIN, body)
                assert 400 <= refused.status_code < 500
                assert told(ask(robot, BY_FRAMEWORK, body)) == told(refused)


def test_who_may_not_is_told_alike(api: Api) -> None:
    with api.client(None) as nobody, api.client(api.token("ann", "read")) as reader:
        for client, status in ((nobody, 401), (reader, 403)):
            refused = ask(client, PLAIN, WANTED)
            assert refused.status_code == status
            assert told(ask(client, BY_FRAMEWORK, WANTED)) == told(refused)
    with api.client(api.token("desk-7", "robot")) as robot:
        for wrong in ({"Idempotency_Key": "k" * 256}, {"Idempotency_Key": ""}):
            refused = ask(robot, PLAIN, WANTED, **wrong)
            assert refused.status_code == 422
            assert told(ask(robot, BY_FRAMEWORK, WANTED, **wrong)) == told(refused)
        refused = robot.post(NEXT, params={"cuont": "3"}, json={"queue_name": "invoices"})
        assert (refused.status_code, refused.json()["field"]) == (422, "cuont")


def test_each_request_counts_once(api: Api) -> None:
    with (
        api_with(api, requests_per_minute=100) as limited,
        limited.client(limited.token("root", "admin")) as root,
        limited.client(limited.token("desk-7", "robot")) as robot,
    ):
        assert root.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        left = [
            int(ask(robot, media_type, body).headers["ratelimit"].split("r=")[1].split(";")[0])
            for media_type in (PLAIN, BY_FRAMEWORK)
            for body in (WANTED, WRONG["an unknown field"])
        ]
        assert left == [99, 98, 97, 96]
