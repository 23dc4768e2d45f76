"""How the API reads what callers send: methods, headers, bodies, times, numbers and names."""

from typing import Final

import httpx
import pytest
from calling import V1, Api

from bandmaster.admin.describing import described

HERE = f"{V1}/executions/"
JSON = {"Content-Type": "application/json"}


def wrong(answer: httpx.Response) -> tuple[int, str, str]:
    document = answer.json()
    return answer.status_code, document["code"], document["field"]


ALLOWED: Final[list[tuple[str, str]]] = [
    ("/executions/", "GET, POST"),
    ("/limits/tenant:1", "GET, PUT, DELETE"),
    ("/settings/max_queue_size", "GET, PUT, DELETE"),
    ("/pauses/tenant:1", "PUT, DELETE"),
    ("/whoami", "GET"),
]


def test_a_method_that_is_not_allowed_is_told_all_that_are(api: Api, subtests: pytest.Subtests) -> None:
    for path, allowed in ALLOWED:
        with subtests.test(path=path, allowed=allowed):
            with api.client(api.token("root", "admin")) as client:
                answer = client.patch(f"{V1}{path}")
            assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)


def test_a_number_is_no_time(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        for moment in ("0.5", "1700000000", "2030-01-31", "2030-01-31T12:00:00"):
            assert wrong(client.get(f"{V1}/executions/", params={"to": moment})) == (422, "invalid", "to"), moment
        token = {"owner": "ann", "scopes": ["read"], "expires_at": 1_900_000_000}
        assert wrong(client.post(f"{V1}/tokens", json=token)) == (422, "invalid", "expires_at")
        later = {"command": ["true"], "scheduled_at": 1_900_000_000}
        assert wrong(client.post(f"{V1}/executions/", json=later)) == (422, "invalid", "scheduled_at")
        assert client.get(f"{V1}/executions/", params={"to": "2030-01-31T12:00:00.5+01:00"}).status_code == 200


def test_a_whole_number_may_have_a_point(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        assert client.put(f"{V1}/limits/tenant:1", json={"limit": 4.0}).json()["limit"] == 4
        for limit in ("4.5", '"4"', "true", "1e400", "-1.0", "null"):
            answer = client.put(f"{V1}/limits/tenant:1", content=f'{{"limit": {limit}}}', headers=JSON)
            assert wrong(answer) == (422, "invalid", "limit"), limit
        setting = client.put(f"{V1}/settings/grace_ms", json={"value": 5000.0}, headers={"If-Match": "*"})
        assert setting.json()["value"] == 5000


def test_a_name_that_cannot_be_one_is_refused_under_the_name_of_its_field(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        for path, field in (
            ("/executions/?lane=held", "lane"),
            ("/executions/?priority=LOW&priority=URGENT", "priority.1"),
            ("/executions/a%20b", "execution_id"),
            ("/actions/a%20b/queue-stats", "ref"),
            ("/limits/*", "gate"),
        ):
            answer = client.get(f"{V1}{path}")
            assert wrong(answer) == (422, "invalid", field), path
            assert "Value error" not in answer.text
        answer = client.post(f"{V1}/executions/", json={"command": ["true"], "metadata": {"profile": ""}})
        assert wrong(answer) == (422, "invalid", "metadata.profile")


@pytest.mark.parametrize("name", ["Authorization", "Idempotency-Key"])
def test_a_header_of_which_only_one_counts_is_refused_twice(api: Api, name: str) -> None:
    headers = [("Authorization", f"Bearer {api.token('ann', 'submit')}"), ("Idempotency-Key", "k")]
    with api.client(None) as client:
        for more in ([(name, "another")], [each for each in headers if each[0] == name]):
            answer = client.post(HERE, json={"command": ["true"]}, headers=[*headers, *more])
            assert (answer.status_code, answer.json()["code"]) == (400, "refused"), answer.text
            assert name in answer.json()["detail"]
    assert api.queue.get_queue_status()["queue_depth"] == 0


def test_an_object_that_names_a_field_twice_is_refused_wherever_a_body_is_taken(api: Api) -> None:
    twice = b'{"a": {"\\u0078": 1, "x": 1}}'
    bodies = [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, methods in described()["paths"].items()
        for method, operation in methods.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]
    assert len(bodies) > 10
    with api.client(api.token("root", "admin"), **JSON, **{"If-Match": "*"}) as client:
        for method, path in bodies:
            answer = client.request(method, path, content=twice)
            assert (answer.status_code, answer.json()["code"]) == (400, "refused"), path
            assert "'x' twice" in answer.json()["detail"]
    with api.client(api.token("ann", "submit")) as client:
        file = {"script": ("job.sh", b"true")}
        answer = client.post(f"{HERE}upload", files=file, data={"submission": '{"action": "a", "action": "b"}'})
        assert (answer.status_code, answer.json()["code"]) == (400, "refused"), answer.text
    assert api.queue.get_queue_status()["queue_depth"] == 0
