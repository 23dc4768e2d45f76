"""One execution with all that is known of it, to whom it may be shown; on every database."""

import pytest
from calling import V1, Api
from sending import ids, send

from bandmaster import Slots
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from waiting import wait_until


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


def test_one_is_shown_as_it_is_now_and_after_redis_forgot_it(api: Api) -> None:
    send(api, "one", gates=("tenant:1",))
    api.queue.controls.set_limit("tenant:1", 0)
    with api.client(api.token("ann", "submit")) as client:
        shown = client.get(f"{V1}/executions/one").json()
        assert (shown["state"], shown["position"], shown["source"]) == ("PENDING", 0, "redis")
        assert shown["gates"] == ["tenant:1"]
        assert "gate tenant:1 is full: 0 of 0 held" in shown["waits_for"]
        api.queue.controls.set_limit("tenant:1", None)
        api.queue.try_schedule()
        api.queue.transitions.settle(Release("one", 1, State.FAILED, reason="exit_code", result=b'{"exit_code": 3}'))
        shown = client.get(f"{V1}/executions/one").json()
        assert (shown["state"], shown["source"], shown["exit_code"]) == ("FAILED", "redis", 3)
        api.catch_up()
        api.queue.scripts.client.flushdb()
        shown = client.get(f"{V1}/executions/one").json()
        assert (shown["state"], shown["source"], shown["exit_code"]) == ("FAILED", "ledger", 3)
        assert (shown["reason"], shown["attempt"], shown["position"]) == ("exit_code", 1, None)
        timeline = client.get(f"{V1}/executions/one/timeline").json()
        assert [step["verb"] for step in timeline["steps"]] == ["park", "admit", "release"]
        assert timeline["complete"]
        assert client.get(f"{V1}/executions/none").status_code == 404


def test_what_it_runs_and_printed_is_for_its_owner_and_admins(api: Api) -> None:
    send(api, "one", command=("echo", "secret"))
    api.queue.try_schedule()
    result = b'{"exit_code": 0, "output_tail": "0123456789"}'
    api.catch_up()
    api.queue.transitions.settle(Release("one", 1, State.COMPLETED, result=result))
    for path in ("payload", "logs"):
        for owner, scope, status in (
            ("ann", "read", 200),
            ("root", "admin", 200),
            ("op", "operate", 403),
            ("bob", "submit", 404),
        ):
            with api.client(api.token(owner, scope)) as client:
                answer = client.get(f"{V1}/executions/one/{path}")
                assert answer.status_code == status, (path, owner, answer.text)
    with api.client(api.token("ann", "read")) as client:
        payload = client.get(f"{V1}/executions/one/payload").json()
        assert payload["event"]["command"] == ["echo", "secret"]
        logs = client.get(f"{V1}/executions/one/logs", params={"tail_bytes": 4}).json()
        assert (logs["output"], logs["truncated"], logs["source"]) == ("6789", True, "result")
        api.catch_up()
        api.queue.scripts.client.flushdb()
        assert client.get(f"{V1}/executions/one/logs").json()["output"] == "0123456789"


def test_a_slot_that_code_takes_is_shown_and_has_no_payload(api: Api) -> None:
    with (
        Slots(api.queue) as slots,
        slots.slot("core.http.get", limit=1) as held,
        api.client(api.token("root", "admin")) as client,
    ):
        shown = client.get(f"{V1}/executions/{held.execution_id}").json()
        assert (shown["state"], shown["action"]) == ("RUNNING", "core.http.get")
        assert shown["lane"] == "slot:core.http.get"
        assert client.get(f"{V1}/executions/{held.execution_id}/payload").status_code == 404
        api.catch_up()
        listed = client.get(f"{V1}/admin/executions/", params={"lane": "slot:core.http.get"})
        assert ids(listed) == [held.execution_id]
        stats = client.get(f"{V1}/actions/core.http.get/queue-stats").json()
        assert (stats["active_count"], stats["max_concurrent"]) == (1, 1)


def test_an_id_that_is_used_again_shows_nothing_of_whose_it_was(api: Api) -> None:
    send(api, "nightly", command=("echo", "anns"))
    api.queue.try_schedule()
    api.queue.transitions.settle(
        Release("nightly", 1, State.FAILED, reason="anns-reason", result=b'{"output_tail": "anns"}')
    )
    api.catch_up()
    first_ms = api.queue.views.server_time_ms()
    keys = api.queue.scripts.keys
    # As after a day.
    api.queue.scripts.client.delete(keys.meta("nightly"), keys.ended("nightly"), keys.result("nightly"))
    wait_until(lambda: api.queue.views.server_time_ms() > first_ms, what="another millisecond")
    send(api, "nightly", user="bob", command=("echo", "bobs"))
    for is_behind in (True, False):
        with api.client(api.token("bob", "submit")) as client:
            for path in ("", "/timeline", "/waits", "/payload", "/logs"):
                answer = client.get(f"{V1}/executions/nightly{path}")
                assert answer.status_code == 200, answer.text
                assert "anns" not in answer.text, (path, is_behind)
        api.catch_up()


def test_refusals_under_its_id_are_none_of_its_transitions(api: Api) -> None:
    send(api, "one")
    with api.client(api.token("bob", "submit")) as client:
        for _ in range(3):
            assert client.post(f"{V1}/executions/", json={"command": ["x"], "execution_id": "one"}).status_code == 409
    api.catch_up()
    with api.client(api.token("ann", "read")) as client:
        steps = client.get(f"{V1}/executions/one/timeline").json()["steps"]
    assert [step["verb"] for step in steps] == ["park"]
