"""A script is submitted as a file: the same submission as one of JSON, and the same rules."""

import json
from typing import Any, Final

import httpx
import pytest
from calling import V1, Api

HERE = f"{V1}/executions/upload"
SCRIPT = "echo grüße\n"


def upload(client: httpx.Client, script: bytes = SCRIPT.encode(), name: str = "job.sh", **given: Any) -> httpx.Response:
    fields = given.pop("fields", None)
    data = {} if fields is None else {"submission": fields if isinstance(fields, str) else json.dumps(fields)}
    return client.post(HERE, files={"script": (name, script)}, data=data, **given)


def event_of(api: Api, execution_id: str) -> dict[str, Any]:
    raw = api.queue.views.event(execution_id)
    assert raw is not None
    return json.loads(raw)


def test_a_file_is_a_script_with_its_name(api: Api) -> None:
    with api.client(api.token("ann", "submit", max_band="HIGH")) as client:
        answer = upload(client, fields={"execution_id": "x", "priority": "HIGH", "gates": ["tenant:1"]})
        assert (answer.status_code, answer.json()["position"]) == (201, 0), answer.text
        event = event_of(api, "x")
        assert (event["script"], event["file_name"], event["priority"]) == (SCRIPT, "job.sh", "HIGH")
        assert event["metadata"]["user_id"] == "ann"
        plain = upload(client).json()["execution_id"]
        assert event_of(api, plain)["priority"] == "NORMAL"
        named = upload(client, name="../etc/x y", fields={"file_name": "other.py"})
        assert event_of(api, named.json()["execution_id"])["file_name"] == "other.py"


def test_a_key_counts_for_both_ways(api: Api) -> None:
    with api.client(api.token("ann", "submit"), **{"Idempotency-Key": "k"}) as client:
        first = upload(client, fields={"timeout_seconds": 9})
        again = upload(client, fields={"timeout_seconds": 9})
        as_json = client.post(f"{V1}/executions/", json={"script": SCRIPT, "file_name": "job.sh", "timeout_seconds": 9})
        assert [each.status_code for each in (first, again, as_json)] == [201, 200, 200]
        assert first.json()["execution_id"] == again.json()["execution_id"] == as_json.json()["execution_id"]
        other = upload(client, b"echo other", fields={"timeout_seconds": 9})
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(api.queue.views.pending()) == 1


WRONG: Final[list[tuple[dict[str, Any], str]]] = [
    ({"script": b"echo \xff"}, "script"),
    ({"script": b""}, "script"),
    ({"script": b"a\0b"}, "script"),
    ({"name": "a/b"}, "file_name"),
    ({"fields": "{"}, "submission"),
    ({"fields": "[]"}, "submission"),
    ({"fields": {"command": ["true"]}}, "submission"),
    ({"fields": {"script": "true"}}, "submission"),
    ({"fields": {"priority": "SOON"}}, "priority"),
    ({"fields": {"metadata": {"labels": 5}}}, "metadata.labels"),
    ({"fields": {"nothing": 5}}, "nothing"),
]


def test_what_is_wrong_is_named_and_leaves_nothing(api: Api, subtests: pytest.Subtests) -> None:
    for given, field in WRONG:
        with subtests.test(given=given, field=field):
            with api.client(api.token("root", "admin")) as client:
                answer = upload(client, **given)
                problem = answer.json()
                assert (answer.status_code, problem["code"], problem["field"]) == (422, "invalid", field), answer.text
                # Not passed over: it would have another priority than its sender thinks.
                beside = client.post(HERE, files={"script": ("job.sh", b"true")}, data={"priority": "HIGH"})
                assert (beside.status_code, beside.json()["field"]) == (422, "priority")
                missing = client.post(HERE, data={"submission": "{}"})
                assert (missing.status_code, missing.json()["field"]) == (422, "script")
                assert client.post(HERE, json={"script": "true"}).status_code == 422
            assert api.queue.views.pending() == []


def test_a_token_allows_no_more_than_as_json(api: Api) -> None:
    with api.client(api.token("ann", "submit", gates=("tenant:1",))) as client:
        for fields in ({"priority": "CRITICAL"}, {"gates": ["tenant:2"]}, {"user_id": "bob"}):
            assert upload(client, fields=fields).status_code == 403, fields
    with api.client(api.token("ann", "read")) as client:
        assert upload(client).status_code == 403
    with api.client(None) as client:
        assert upload(client).status_code == 401
    with api.client(api.token("root", "admin")) as client:
        assert upload(client, b"#" * 10_000_000).status_code == 413
    assert api.queue.views.pending() == []
