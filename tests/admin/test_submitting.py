"""Submitting, cancelling and moving: what is allowed to whom, and nothing of what is refused is kept."""

import json
from typing import Any, Final

import pytest
from calling import V1, Api

from bandmaster.admin.api.names import WORDS
from bandmaster.admin.describing import described

HERE = f"{V1}/executions/"
SPAN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
ECHO = {"command": ["echo", "hello"]}


def test_an_execution_is_accepted_as_its_owners(api: Api) -> None:
    with api.client(api.token("ann", "submit")) as client:
        answer = client.post(HERE, json=ECHO | {"action": "greet", "metadata": {"labels": {"a": "b"}}})
    assert answer.status_code == 201, answer.text
    accepted = answer.json()
    assert (accepted["state"], accepted["position"]) == ("PENDING", 0)
    found = api.queue.try_schedule()
    assert found is not None
    execution_id, event = found
    assert execution_id == accepted["execution_id"]
    assert (event.command, event.action, event.metadata.user_id) == (("echo", "hello"), "greet", "ann")
    assert event.metadata.labels == {"a": "b"}


def test_one_for_later_has_no_position(api: Api) -> None:
    with api.client(api.token("ann", "submit")) as client:
        accepted = client.post(HERE, json=ECHO | {"scheduled_at": "2099-01-01T00:00:00Z"}).json()
    assert (accepted["state"], accepted["position"]) == ("SCHEDULED", None)


WRONG: Final[list[tuple[dict[str, Any], str]]] = [
    ({}, "script, command"),
    (ECHO | {"script": "x"}, "script, command"),
    (ECHO | {"surprise": 1}, "surprise"),
    (ECHO | {"priority": "URGENT"}, "priority"),
    (ECHO | {"timeout_seconds": 0}, "timeout_seconds"),
    (ECHO | {"cpu_limit": "many"}, "cpu_limit"),
    (ECHO | {"cpu_limit": "0.0001"}, "cpu_limit"),
    (ECHO | {"memory_limit": "0.5"}, "memory_limit"),
    ({"script": "x", "runtime": "cobol"}, "runtime"),
    (ECHO | {"gates": ["a*"]}, "gate"),
    (ECHO | {"execution_id": "a b"}, "execution_id"),
    ({"command": []}, "command"),
    ({"command": ["a\0b"]}, "command"),
    ({"script": "x" * 1_100_000}, "event"),
    (ECHO | {"scheduled_at": "tomorrow"}, "scheduled_at"),
    (ECHO | {"metadata": {"labels": {"": "x"}}}, "metadata"),
]


def test_what_is_wrong_is_named_and_nothing_is_kept(api: Api, subtests: pytest.Subtests) -> None:
    for body, field in WRONG:
        with subtests.test(field=field):
            with api.client(api.token("ann", "submit")) as client:
                answer = client.post(HERE, json=body, headers={"Idempotency-Key": "k"})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
            assert field in answer.json()["detail"]
            assert answer.json()["field"]
            assert answer.headers["Content-Type"] == "application/problem+json"
            assert api.queue.get_queue_status()["queue_depth"] == 0
            assert not list(api.queue.scripts.client.scan_iter("exec_queue:request:*"))


def test_a_payload_is_in_no_answer_to_a_wrong_request(api: Api) -> None:
    with api.client(api.token("ann", "submit")) as client:
        for body in ({"script": {"hunter2": 1}}, {"script": "hunter2\0"}, {"command": ["hunter2", 5]}):
            answer = client.post(HERE, json=body)
            assert answer.status_code == 422
            assert "hunter2" not in answer.text


BOUNDED: Final[list[tuple[dict[str, Any], int]]] = [
    (ECHO | {"priority": "HIGH"}, 403),
    (ECHO | {"priority": "LOW"}, 201),
    (ECHO | {"gates": ["tenant:1"]}, 201),
    (ECHO | {"gates": ["licence:x"]}, 403),
    (ECHO | {"user_id": "bob"}, 403),
    (ECHO | {"user_id": "ann"}, 201),
]


def test_a_token_bounds_what_is_asked_for(api: Api, subtests: pytest.Subtests) -> None:
    for body, status in BOUNDED:
        with subtests.test(body=body, status=status):
            with api.client(api.token("ann", "submit", gates=("tenant:*",))) as client:
                answer = client.post(HERE, json=body)
            assert answer.status_code == status, answer.text


GATES: Final[list[tuple[str, int]]] = [
    ("tenant:1", 201),
    ("user:ann", 201),
    ("action:pod", 201),
    ("user:bob", 403),
    ("action:other", 403),
]


def test_the_gates_of_other_users_and_actions_are_not_filled_without_a_word_of_the_token(
    api: Api, subtests: pytest.Subtests
) -> None:
    for gate, status in GATES:
        with subtests.test(gate=gate, status=status):
            body = ECHO | {"action": "pod", "gates": [gate]}
            with api.client(api.token("ann", "submit")) as client:
                answer = client.post(HERE, json=body)
            assert answer.status_code == status, answer.text
            with api.client(api.token("ann", "submit", gates=("*",))) as client:
                assert client.post(HERE, json=body).status_code == 201


def test_an_id_that_could_not_be_asked_for_is_refused(api: Api) -> None:
    under = [f"{V1}/executions/", f"{V1}/admin/executions/"]
    paths = [path.removeprefix(each) for path in described()["paths"] for each in under if path.startswith(each)]
    words = {path.split("/")[0] for path in paths if path and not path.startswith("{")}
    assert words == WORDS
    with api.client(api.token("ann", "submit")) as client:
        for execution_id in (*words, ".", "..", "..."):
            file = {"script": ("job.sh", b"true")}
            given = {"submission": json.dumps({"execution_id": execution_id})}
            for answer in (
                client.post(HERE, json=ECHO | {"execution_id": execution_id}),
                client.post(f"{HERE}upload", files=file, data=given),
            ):
                assert (answer.status_code, answer.json()["field"]) == (422, "execution_id"), execution_id
                assert repr(execution_id) in answer.json()["detail"]
        assert client.post(HERE, json=ECHO | {"execution_id": "queue-1"}).status_code == 201
    assert api.queue.get_queue_status()["queue_depth"] == 1


ACTIONS: Final[list[tuple[str, tuple[str, ...] | None, int]]] = [
    ("submit", ("tenant:ci",), 403),
    ("submit", (), 403),
    ("submit", ("tenant:ci", "action:report"), 201),
    ("submit", ("action:re*",), 201),
    ("submit", None, 201),
    ("admin", ("tenant:ci",), 201),
]


def test_an_action_is_chosen_only_as_far_as_the_token_may_name_its_gate(api: Api, subtests: pytest.Subtests) -> None:
    for scope, gates, status in ACTIONS:
        with subtests.test(scope=scope, gates=gates, status=status):
            before = api.queue.action_statistics("report").queue_length
            with api.client(api.token("ann", scope, gates=gates)) as client:
                answer = client.post(HERE, json=ECHO | {"action": "report"})
                file = {"script": ("job.sh", b"true")}
                uploaded = client.post(f"{HERE}upload", files=file, data={"submission": '{"action": "report"}'})
                assert client.post(HERE, json=ECHO).status_code == 201, "the default action is everybody's"
            assert (answer.status_code, uploaded.status_code) == (status, status), answer.text
            if status == 403:
                assert (answer.json()["code"], "action:report" in answer.json()["detail"]) == ("forbidden", True)
            after = api.queue.action_statistics("report").queue_length
            assert after - before == (0 if status == 403 else 2)


def test_the_queues_own_refusals_are_told(api: Api) -> None:
    api.queue.controls.change_setting("max_executions_per_user", 1)
    with api.client(api.token("ann", "submit")) as client:
        assert client.post(HERE, json=ECHO | {"execution_id": "x"}).status_code == 201
        answer = client.post(HERE, json=ECHO)
        assert (answer.status_code, answer.json()["code"]) == (429, "user_limit")
        answer = client.post(HERE, json=ECHO | {"execution_id": "x"})
        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")
        api.queue.controls.change_setting("max_queue_size", 1)
        answer = client.post(HERE, json=ECHO)
        assert (answer.status_code, answer.json()["code"]) == (429, "queue_full")


def test_whose_id_is_taken_is_not_told(api: Api) -> None:
    api.queue.enqueue({"execution_id": "x", **ECHO, "metadata": {"user_id": "bob"}})
    with api.client(api.token("ann", "submit")) as client:
        refused = client.post(HERE, json=ECHO | {"execution_id": "x"})
    assert (refused.status_code, refused.json()["code"]) == (409, "duplicate")
    assert "PENDING" not in refused.text


def test_moving_keeps_to_what_waits_and_what_the_token_allows(api: Api) -> None:
    for name in ("a", "b"):
        api.queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": "ann"}})
    with api.client(api.token("ann", "submit")) as client:
        assert client.put(f"{HERE}b/priority", json={"priority": "HIGH"}).status_code == 403
        assert client.put(f"{HERE}a/priority", json={"priority": "LOW"}).json()["position"] == 1
        assert client.put(f"{HERE}a/priority", json={"priority": "SOON"}).status_code == 422
    with api.client(api.token("root", "admin")) as client:
        url = f"{V1}/admin/executions/a/priority"
        assert client.put(url, json={"priority": "HIGH"}).json() == {
            "execution_id": "a",
            "priority": "HIGH",
            "state": "PENDING",
            "position": 0,
        }
        api.queue.try_schedule()
        answer = client.put(url, json={"priority": "LOW"})
        assert (answer.status_code, answer.json()["code"]) == (409, "not_pending")


def test_cancelling_ends_what_waits_and_asks_what_runs(api: Api) -> None:
    for name in ("runs", "waits"):
        api.queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": "ann"}})
    api.queue.try_schedule()
    with api.client(api.token("ann", "submit")) as client:
        ended = client.post(f"{HERE}waits/cancel", json={"reason": "not needed"})
        assert (ended.status_code, ended.json()["state"]) == (200, "CANCELLED")
        asked = client.post(f"{HERE}runs/cancel")
        assert (asked.status_code, asked.json()["state"]) == (202, "RUNNING")
        again = client.post(f"{HERE}waits/cancel")
        assert (again.status_code, again.json()["code"]) == (409, "ended")
        assert client.post(f"{HERE}nobody/cancel").status_code == 404
    assert api.queue.views.meta("waits")["reason"] == "not needed"


def test_the_journal_says_who_asked(api: Api) -> None:
    for name in ("a", "b"):
        api.queue.enqueue({"execution_id": name, "command": ["true"], "metadata": {"user_id": "ann"}})
    token = api.token("ann", "submit")
    with api.client(token) as client:
        client.put(f"{HERE}a/priority", json={"priority": "LOW"})
        client.post(f"{HERE}b/cancel")
    by = f"ann (token {token.split('_')[1]}, 127.0.0.1)"
    told = {(e.verb, e.execution_id): e.fields.get("by") for e in api.queue.journal.entries()}
    assert (told["reprioritise", "a"], told["cancel", "b"]) == (by, by)


@pytest.mark.parametrize(("traceparent", "is_kept"), [(SPAN, True), (SPAN.upper(), False), ("x" * 4_000, False)])
def test_an_execution_belongs_to_the_trace_of_its_request(api: Api, traceparent: str, is_kept: bool) -> None:
    sent = {"traceparent": traceparent, "tracestate": "a=1"}
    with api.client(api.token("ann", "submit"), **sent) as client:
        assert client.post(HERE, json=ECHO).status_code == 201
        upload = client.post(f"{HERE}upload", files={"script": ("it.sh", b"echo hello")})
        assert upload.status_code == 201, upload.text
    for _ in range(2):
        found = api.queue.try_schedule()
        assert found is not None
        metadata = found[1].metadata
        assert metadata.traceparent == (traceparent if is_kept else None)
