"""How long a body may be, by route; and what every answer carries."""

import asyncio
from typing import Any, Final

import httpx
import pytest
from calling import V1, Api, api_with

from bandmaster.admin.application import ITEM_PATHS, SUBMITTING_PATHS, UPLOADING_PATHS, build, guarded
from bandmaster.admin.border import CONTROL_BODY_BYTES
from bandmaster.admin.describing import described
from bandmaster.configs.api import ApiSettings
from bandmaster.items.bounds import PAYLOAD_MAX_BYTES

DOCUMENT: Final = described()
WITH_BODY: Final = [
    (method, path)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
    if "requestBody" in operation
]
JSON: Final = {"Content-Type": "application/json"}


def test_a_body_that_submits_nothing_is_short(api: Api) -> None:
    too_long = b'{"reason": "' + b"x" * CONTROL_BODY_BYTES + b'"}'
    with api.client(api.token("root", "admin"), **JSON) as client:
        for method, path in WITH_BODY:
            if path in (*SUBMITTING_PATHS, *ITEM_PATHS) or UPLOADING_PATHS.fullmatch(path):
                continue
            url = path.replace("{", "").replace("}", "")
            for content in (too_long, (piece for piece in (too_long[:1000], too_long[1000:]))):
                answer = client.request(method, url, content=content)
                assert (answer.status_code, answer.json()["code"]) == (413, "too_large"), (method, path)
                assert str(CONTROL_BODY_BYTES) in answer.json()["detail"]
                assert answer.headers["Content-Type"] == "application/problem+json"


def test_what_is_submitted_may_be_long(api: Api) -> None:
    assert {path for _, path in WITH_BODY} >= set(SUBMITTING_PATHS)
    script = "#" * (2 * CONTROL_BODY_BYTES)
    with api.client(api.token("root", "admin")) as client:
        for path in SUBMITTING_PATHS:
            if path.endswith("upload"):
                answer = client.post(path, files={"script": ("x.sh", script.encode())})
            else:
                answer = client.post(path, json={"script": script})
            assert answer.status_code == 201, answer.text


def test_a_payload_may_be_long(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        assert client.post(f"{V1}/queues", json={"name": "invoices"}).status_code == 201
        for path in ITEM_PATHS:
            for length, status in ((PAYLOAD_MAX_BYTES - 2, 201), (PAYLOAD_MAX_BYTES - 1, 422)):
                answer = client.post(path, json={"queue_name": "invoices", "payload": "x" * length})
                assert answer.status_code == status, (path, answer.text)


def test_no_body_is_longer_than_the_settings_say(api: Api) -> None:
    with api_with(api, max_body_bytes=1_024) as small, small.client(small.token("root", "admin"), **JSON) as client:
        for path in (f"{V1}/executions/", f"{V1}/executions/bulk"):
            answer = client.post(path, content=b"x" * 1_025)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
            assert "api.max_body_bytes" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("url", "has_hsts"),
    [("https://bandmaster.example", True), ("http://bandmaster.example", False), ("https://localhost:8640", False)],
)
def test_every_answer_carries_the_headers_of_safety(api: Api, url: str, *, has_hsts: bool) -> None:
    application: Any = guarded(build(api.services), ApiSettings(allowed_hosts=("bandmaster.example",)))

    async def answers() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            return [
                await client.get("/healthz"),
                await client.get(f"{V1}/whoami"),
                await client.get("/nowhere"),
                await client.get("/healthz", headers={"Origin": "https://evil.example"}),
                await client.post(f"{V1}/session", content=b"x" * (CONTROL_BODY_BYTES + 1)),
            ]

    found = asyncio.run(answers())
    assert [each.status_code for each in found] == [200, 401, 404, 403, 413]
    for answer in found:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert ("Strict-Transport-Security" in answer.headers) == has_hsts
        assert not [name for name in answer.headers if name.startswith("access-control-")], "CORS is off"
