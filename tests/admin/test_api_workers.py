"""Workers and lanes as the API shows them: to operators with what runs, to others as counts and their own."""

import json
from typing import Any

import pytest
from calling import V1, Api

from bandmaster.scheduler.workers import EXPIRES_MS, Running, Workers, WorkerSigned


@pytest.fixture
def workers(api: Api) -> Workers:
    for name, user in (("anns", "ann"), ("bobs", "bob")):
        api.queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": user}})
        assert api.queue.try_schedule() is not None
    signing = Workers(api.queue.scripts)
    for number in range(2):
        signing.sign(
            WorkerSigned(
                worker_id=f"w-{number}",
                host="web-1",
                pid=7 + number,
                release="1.2",
                since_ms=1_000 - number,
                threads=8,
                busy=2 * number,
                lanes=("executions",),
                running=tuple(Running(name, 1, "executions") for name in ("anns", "bobs"))[: 2 * number],
                stopping=False,
            )
        )
    return signing


def listed(api: Api, scope: str, path: str = "workers") -> dict[str, Any]:
    with api.client(api.token("ann", scope)) as client:
        answer = client.get(f"{V1}/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_operators_see_who_lives_and_what_each_does(api: Api, workers: Workers) -> None:
    for document in (listed(api, "operate"), listed(api, "admin", "admin/workers")):
        assert (document["threads"], document["busy"], document["source"]) == (16, 2, "redis")
        busy, idle = document["workers"]
        assert (busy["worker_id"], busy["host"], busy["pid"], busy["release"]) == ("w-1", "web-1", 8, "1.2")
        assert [each["execution_id"] for each in busy["running"]] == ["anns", "bobs"]
        assert (busy["lanes"], busy["since"]) == (["executions"], "1970-01-01T00:00:00.999Z")
        assert (idle["busy"], idle["running"]) == (0, [])


def test_others_see_counts_and_their_own(api: Api, workers: Workers) -> None:
    document = listed(api, "read")
    assert (document["threads"], document["busy"]) == (16, 2)
    (busy, _) = document["workers"]
    assert [each["execution_id"] for each in busy["running"]] == ["anns"]
    assert (busy["host"], busy["pid"], busy["busy"]) == (None, None, 2)
    assert "bobs" not in json.dumps(document)
    assert "web-1" not in json.dumps(document)


def test_a_signature_expires_and_its_name_is_forgotten(api: Api, workers: Workers) -> None:
    client: Any = api.queue.scripts.client
    keys = api.queue.scripts.keys
    assert 0 < client.pttl(keys.worker("w-0")) <= EXPIRES_MS
    client.pexpire(keys.worker("w-0"), 0)
    assert [each.worker_id for each in workers.alive()] == ["w-1"]
    assert client.smembers(keys.workers()) == {b"w-1"}
    workers.leave("w-1")
    assert workers.alive() == []
    assert not client.exists(keys.workers())


def test_a_signature_of_another_release_is_left_out(api: Api, workers: Workers) -> None:
    client: Any = api.queue.scripts.client
    for signature in ("x", "{}", '{"running": [], "lanes": [], "more": 1}'):
        client.set(api.queue.scripts.keys.worker("w-0"), signature)
        assert [each.worker_id for each in workers.alive()] == ["w-1"], signature


def test_what_status_needs_is_told_to_who_may_read(api: Api) -> None:
    api.queue.controls.pause("user:bob")
    api.queue.controls.pause("user:ann")
    assert set(listed(api, "read", "pauses")["paused"]) == {"user:ann"}
    assert set(listed(api, "operate", "pauses")["paused"]) == {"user:ann", "user:bob"}
    for path in ("lanes", "settings", "gates", "executions/queue"):
        assert listed(api, "read", path)["source"] == "redis"
    assert listed(api, "admin", "admin/lanes")["lanes"] == listed(api, "admin", "lanes")["lanes"]
