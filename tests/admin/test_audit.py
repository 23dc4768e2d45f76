"""The audit: each change with who, token, address, what, before and after; by filters and pages, on all databases."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx
import pytest
from calling import V1, Api, signed_in

from bandmaster.admin.api.cursors import cursor_of
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


@pytest.fixture
def token(api: Api) -> str:
    return api.token("op", "admin")


@pytest.fixture
def client(api: Api, token: str) -> Iterator[httpx.Client]:
    with api.client(token) as client:
        yield client


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def audit(api: Api, client: httpx.Client, **wanted: Any) -> list[dict[str, Any]]:
    api.catch_up()
    answer = client.get(f"{V1}/audit", params=wanted)
    assert answer.status_code == 200, answer.text
    return answer.json()["entries"]


def told(entries: list[dict[str, Any]]) -> list[tuple[str, str, str | None, str | None]]:
    return [(each["verb"], each["subject"], each["before"], each["after"]) for each in reversed(entries)]


def bury(api: Api, execution_id: str) -> None:
    api.queue.enqueue({"execution_id": execution_id, "command": ["true"]})
    assert api.queue.try_schedule() is not None
    api.queue.transitions.settle(Release(execution_id, 1, State.FAILED, dead=True))


def test_each_change_of_an_execution_says_what_was_before(api: Api, client: httpx.Client, token: str) -> None:
    sent = client.post(f"{V1}/executions/", json={"execution_id": "x", "command": ["true"]})
    assert sent.status_code == 201, sent.text
    assert client.put(f"{V1}/executions/x/priority", json={"priority": "LOW"}).status_code == 200
    assert client.post(f"{V1}/executions/x/cancel").status_code == 200
    for name in ("again", "dropped"):
        bury(api, name)
    new_id = client.post(f"{V1}/executions/again/retry").json()["new_execution_id"]
    assert client.delete(f"{V1}/executions/dropped/dead").status_code == 204
    entries = audit(api, client, kind="execution")
    assert told(entries) == [
        ("park", "x", None, "PENDING"),
        ("reprioritise", "x", "NORMAL", "LOW"),
        ("cancel", "x", "PENDING", "CANCELLED"),
        ("park", new_id, None, "PENDING"),
        ("drop", "again", "DEAD", "FAILED"),
        ("drop", "dropped", "DEAD", "FAILED"),
    ]
    token_id = token.split("_")[1]
    assert {(each["who"], each["token_id"], each["address"]) for each in entries} == {("op", token_id, "127.0.0.1")}
    assert {each["by"] for each in entries} == {f"op (token {token_id}, 127.0.0.1)"}


def test_what_programs_send_is_no_change_by_somebody(api: Api, client: httpx.Client) -> None:
    api.queue.enqueue({"execution_id": "x", "command": ["true"]})
    assert audit(api, client, kind="execution") == []


def test_a_change_of_many_is_one_of_each(api: Api, client: httpx.Client) -> None:
    for number in range(2):
        api.queue.enqueue({"execution_id": f"m-{number}", "command": ["true"]})
    assert api.queue.try_schedule() is not None
    ticket = client.post(f"{V1}/executions/bulk/plan", json={"action": "cancel"}).json()["ticket"]
    assert client.post(f"{V1}/executions/bulk", json={"ticket": ticket}).json()["changed"] == 2
    assert sorted(told(audit(api, client, kind="execution"))) == [
        ("cancel", "m-0", "RUNNING", "RUNNING"),
        ("cancel", "m-1", "PENDING", "CANCELLED"),
    ]


def test_tokens_that_are_made_and_revoked_are_in_it_without_their_secrets(
    api: Api, client: httpx.Client, token: str
) -> None:
    made = client.post(
        f"{V1}/tokens",
        json={"owner": "ann", "scopes": ["submit"], "gates": ["tenant:*"], "expires_at": "2100-01-01T00:00:00Z"},
    ).json()
    assert client.delete(f"{V1}/tokens/{made['token_id']}").status_code == 200
    assert client.delete(f"{V1}/tokens/{made['token_id']}").status_code == 200, "once more changes nothing"
    allows = "owner ann; scopes submit; up to NORMAL; gates tenant:*; until 2100-01-01T00:00:00.000Z"
    entries = audit(api, client, subject=made["token_id"])
    assert told(entries) == [
        ("create_token", made["token_id"], None, allows),
        ("revoke_token", made["token_id"], allows, "revoked"),
    ]
    assert {each["token_id"] for each in entries} == {token.split("_")[1]}
    (own,) = audit(api, client, subject=token.split("_")[1])
    assert (own["verb"], own["who"], own["token_id"], own["address"]) == ("create_token", "a test", None, None)
    assert made["token"].split("_", 2)[2] not in str(audit(api, client))


def test_it_is_filtered_by_kind_verb_subject_and_who(api: Api, client: httpx.Client, token: str) -> None:
    client.put(f"{V1}/limits/tenant:1", json={"limit": 2})
    client.put(f"{V1}/pauses/tenant:1")
    api.queue.controls.set_limit("tenant:2", 1, by="ann@web-1")
    api.queue.enqueue({"execution_id": "x", "command": ["true"]})
    client.post(f"{V1}/executions/x/cancel")
    with signed_in(api, token) as browser:
        assert browser.delete(f"{V1}/session").status_code == 204

    def seen(**wanted: Any) -> list[tuple[str, str]]:
        return [(each["kind"], each["verb"]) for each in reversed(audit(api, client, **wanted))]

    every = [
        *(("token", "create_token"), ("control", "limit"), ("control", "pause"), ("control", "limit")),
        *(("execution", "cancel"), ("session", "sign_in"), ("session", "sign_out")),
    ]
    assert seen() == every
    for kind in ("token", "control", "execution", "session"):
        assert seen(kind=kind) == [each for each in every if each[0] == kind], kind
    assert seen(kind=["session", "control"]) == [each for each in every if each[0] in ("session", "control")]
    assert seen(verb=["limit", "cancel", "create_token"]) == [
        each for each in every if each[1] in ("limit", "cancel", "create_token")
    ]
    assert seen(who="ann") == seen(who="ann@web-1") == [("control", "limit")]
    assert seen(who="op", kind="control") == [("control", "limit"), ("control", "pause")]
    assert seen(subject="tenant:2") == [("control", "limit")]
    assert seen(who="o") == seen(subject="x", verb="limit") == []
    assert client.get(f"{V1}/audit", params={"kind": "nothing"}).status_code == 422


def test_a_rate_is_told_as_it_was_given(api: Api, client: httpx.Client) -> None:
    client.put(f"{V1}/rates/tenant:1", json={"rate": "100/m burst 5"})
    client.delete(f"{V1}/rates/tenant:1")
    told = [(each["before"], each["after"]) for each in audit(api, client, subject="tenant:1", verb="rate")]
    assert told == [("100/m burst 5", None), (None, "100/m burst 5")]


def test_pages_of_it_leave_nothing_out_where_times_are_the_same(api: Api, client: httpx.Client) -> None:
    ids = {api.token(f"user-{number}", "read").split("_")[1] for number in range(5)}
    with api.database.writing() as connection:
        connection.exec_driver_sql("UPDATE tokens SET created_ms = 1000, revoked_ms = 1000")
        connection.exec_driver_sql("UPDATE tokens SET revoked_ms = NULL WHERE owner = 'op'")
    for number in range(3):
        api.queue.controls.set_limit(f"tenant:{number}", 1, by="ann")
    api.catch_up()
    every = [(each["verb"], each["subject"]) for each in audit(api, client)]
    assert len(every) == 3 + 1 + 2 * 5
    assert {subject for verb, subject in every if verb == "revoke_token"} == ids
    for limit in (1, 2, 3):
        paged, cursor = list[tuple[str, str]](), dict[str, str]()
        while True:
            page = client.get(f"{V1}/audit", params={"limit": limit} | cursor).json()
            paged += [(each["verb"], each["subject"]) for each in page["entries"]]
            if page["next"] is None:
                break
            cursor = {"cursor": page["next"]}
        assert paged == every, limit


def test_nobody_changes_it_through_the_api(client: httpx.Client, api: Api) -> None:
    document = client.get(f"{V1}/openapi.json").json()
    assert list(document["paths"][f"{V1}/audit"]) == ["get"]
    for scope in ("read", "submit", "operate"):
        with api.client(api.token("ann", scope)) as other:
            assert code_of(other.get(f"{V1}/audit")) == (403, "forbidden")


def test_the_audit_says_who_changed_what(api: Api) -> None:
    token = api.token("op", "admin")
    by = f"op (token {token.split('_')[1]}, 127.0.0.1)"
    api.queue.enqueue({"execution_id": "x", "command": ["true"]})
    with api.client(token) as client:
        client.put(f"{V1}/limits/tenant:1", json={"limit": 2})
        client.put(f"{V1}/limits/tenant:1", json={"limit": 3})
        client.put(f"{V1}/settings/max_queue_size", json={"value": 77}, headers={"If-Match": "*"})
        client.post(f"{V1}/executions/x/cancel")
        api.queue.controls.pause("action:pod", by="somebody else")
        api.catch_up()
        entries = client.get(f"{V1}/audit").json()["entries"]
        assert [(e["verb"], e["subject"], e["by"], e["before"], e["after"]) for e in entries[:2]] == [
            ("pause", "action:pod", "somebody else", None, entries[0]["after"]),
            ("cancel", "x", by, "PENDING", "CANCELLED"),
        ]
        of_limit = client.get(f"{V1}/audit", params={"subject": "tenant:1"}).json()["entries"]
        assert [(e["before"], e["after"], e["by"], e["kind"]) for e in of_limit] == [
            ("2", "3", by, "control"),
            (None, "2", by, "control"),
        ]
        pages, cursor = list[str](), None
        while True:
            page = client.get(f"{V1}/audit", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
            pages += [e["subject"] for e in page["entries"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert pages[:5] == ["action:pod", "x", "max_queue_size", "tenant:1", "tenant:1"]
        assert pages[5:] == [token.split("_")[1]], "and how the token was made"
        assert client.get(f"{V1}/audit", params={"from": "2100-01-01T00:00:00Z"}).json()["entries"] == []


def test_a_cursor_of_a_journal_that_cannot_be_is_answered(api: Api) -> None:
    api.queue.controls.set_limit("tenant:1", 2, by="ann")
    api.catch_up()
    with api.client(api.token("root", "admin")) as client:
        (entry,) = client.get(f"{V1}/audit", params={"kind": "control"}).json()["entries"]
        at_ms = int(datetime.fromisoformat(entry["at"]).timestamp() * 1000)
        for journal_id in (2**31 - 1, 2**31, 2**63 - 1):
            after, before = cursor_of(journal_id, at_ms + 1000, 0, ""), cursor_of(journal_id, at_ms - 1000, 0, "")
            assert audit(api, client, cursor=after, kind="control") == [entry], journal_id
            assert client.get(f"{V1}/audit", params={"cursor": before, "kind": "control"}).json()["entries"] == [], (
                journal_id
            )
        assert code_of(client.get(f"{V1}/audit", params={"cursor": cursor_of(2**63, 1, 0, "")})) == (422, "invalid")
