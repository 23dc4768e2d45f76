"""Quotas over HTTP: who is refused and how, what counts, and what an answer tells of it."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from calling import V1, Api, api_with

pytestmark = pytest.mark.usefixtures("exact_quotas")

WHOAMI = f"{V1}/whoami"
SUBMIT = f"{V1}/executions/"


@pytest.fixture
def few(api: Api) -> Iterator[Api]:
    with api_with(api, requests_per_minute=5, submissions_per_minute=2) as few:
        yield few


def refused(answer: httpx.Response) -> bool:
    if answer.status_code != 429:
        return False
    assert answer.json()["code"] == "rate_limited"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    return True


def test_a_token_may_send_so_many_requests_and_no_other_pays_for_it(few: Api) -> None:
    ann, bob = few.token("ann", "read"), few.token("bob", "read")
    with few.client(ann) as client:
        answers = [client.get(WHOAMI) for _ in range(8)]
        assert [refused(answer) for answer in answers] == [False] * 5 + [True] * 3
        assert answers[-1].json()["detail"] == "5 requests a minute are allowed (api.requests_per_minute)"
        # Whatever it asks for, and whether or not it may.
        assert refused(client.get(f"{V1}/executions/queue"))
        assert refused(client.get(f"{V1}/admin/executions/queue"))
        for path in ("/healthz", "/readyz"):
            assert [client.get(path).status_code for _ in range(20)] == [200] * 20
    with few.client(bob) as client:
        assert client.get(WHOAMI).status_code == 200


def test_an_answer_tells_what_is_left(few: Api) -> None:
    with few.client(few.token("ann", "submit")) as client:
        answer = client.get(WHOAMI)
        assert answer.headers["RateLimit-Policy"] == '"requests";q=5;w=60'
        name, left, seconds = answer.headers["RateLimit"].split(";")
        assert (name, left) == ('"requests"', "r=4")
        assert 1 <= int(seconds.removeprefix("t=")) <= 60
        # The route makes its answer by itself.
        accepted = client.post(SUBMIT, json={"command": ["true"]}).json()["execution_id"]
        assert ";r=2;" in client.get(f"{SUBMIT}{accepted}").headers["RateLimit"]
        answer = client.post(SUBMIT, json={"command": ["true"]})
        assert answer.headers["RateLimit-Policy"] == '"requests";q=5;w=60, "submissions";q=2;w=60'
        assert ";r=1;" in answer.headers["RateLimit"].split(", ")[0]
        assert ";r=0;" in answer.headers["RateLimit"].split(", ")[1]
        answer = client.post(SUBMIT, json={"command": ["true"]})
        assert refused(answer)
        assert '"submissions";r=0;' in answer.headers["RateLimit"]
        assert "RateLimit" not in client.get("/healthz").headers
    assert few.queue.get_queue_status()["queue_depth"] == 2


def test_what_is_refused_for_another_reason_counts_too(few: Api) -> None:
    with few.client(few.token("ann", "read")) as client:
        answers = [client.get(f"{V1}/tokens") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [403] * 5 + [429]


def test_a_route_for_admins_counts_once(few: Api) -> None:
    with few.client(few.token("ann", "admin")) as client:
        answers = [client.get(f"{V1}/admin/executions/queue") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


def test_a_stream_counts_once_however_long_it_is(few: Api) -> None:
    token = few.token("ann", "read")
    with few.client(token) as client, client.stream("GET", f"{V1}/events") as answer:
        assert '"requests";r=4;' in answer.headers["RateLimit"]
        pieces = answer.iter_bytes()
        for number in range(20):
            few.queue.enqueue({"execution_id": f"e-{number}", "command": ["true"], "metadata": {"user_id": "ann"}})
            while f"e-{number}".encode() not in next(pieces):
                pass
        assert '"requests";r=3;' in client.get(WHOAMI).headers["RateLimit"]


def test_two_apis_on_one_redis_share_a_quota(api: Api) -> None:
    token = api.token("ann", "read")
    with (
        api_with(api, requests_per_minute=10) as one,
        api_with(api, requests_per_minute=10) as two,
        one.client(token) as first,
        two.client(token) as second,
    ):
        answers = [client.get(WHOAMI) for _ in range(10) for client in (first, second)]
        assert [refused(answer) for answer in answers] == [False] * 10 + [True] * 10


def test_a_quota_of_nothing_is_none(api: Api) -> None:
    with api_with(api, requests_per_minute=0, submissions_per_minute=0, failed_logins_per_minute=0) as free:
        with free.client(free.token("ann", "submit")) as client:
            for _ in range(100):
                answer = client.post(SUBMIT, json={"command": ["true"]})
                assert (answer.status_code, "RateLimit" in answer.headers) == (201, False)
        with free.client(None) as client:
            assert {client.get(WHOAMI).status_code for _ in range(100)} == {401}


def test_the_log_is_told_once(few: Api, caplog: pytest.LogCaptureFixture) -> None:
    with few.client(few.token("ann", "read")) as client:
        assert sum(refused(client.get(WHOAMI)) for _ in range(25)) == 20
    assert caplog.text.count("quota_taken") == 1


def test_the_keys_of_quotas_end_by_themselves(few: Api, redis_client: Any) -> None:
    with few.client(few.token("ann", "submit")) as client:
        client.post(SUBMIT, json={"command": ["true"]})
    with few.client("bm_0123456789ab_" + "A" * 43) as client:
        client.get(WHOAMI)
    keys = list(redis_client.scan_iter("exec_queue:quota:*"))
    assert len(keys) == 3
    assert all(0 < redis_client.pttl(key) <= 60_000 for key in keys)
