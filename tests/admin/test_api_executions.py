"""Reading executions: lists, pages, one with all that is known of it, the queue as it is; on every database."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from calling import V1, Api
from sqlalchemy import Engine, event

from bandmaster.admin.api import living
from bandmaster.admin.api.living import MOST_A_PAGE
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from waiting import wait_until

ALL = f"{V1}/admin/executions/"


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


def send(api: Api, execution_id: str, user: str | None = "ann", **fields: object) -> None:
    event = {"execution_id": execution_id, "command": ("true",), "metadata": {"user_id": user}, **fields}
    api.queue.enqueue(ExecutionRequestedEvent.from_any(event))


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["execution_id"] for each in answer.json()["executions"]]


def test_a_list_is_filtered_by_each_property(api: Api) -> None:
    send(api, "a-1", action="resize")
    first_ms = api.queue.views.server_time_ms()
    wait_until(lambda: api.queue.views.server_time_ms() > first_ms, what="another millisecond")
    send(api, "a-2", user="bob", priority="HIGH")
    send(api, "b-1", user="bob", action="resize", priority="CRITICAL")
    api.queue.cancel("a-2")
    api.catch_up()
    with api.client(api.token("root", "admin")) as client:
        assert ids(client.get(ALL)) == ["b-1", "a-2", "a-1"]
        assert ids(client.get(ALL, params={"status": "CANCELLED"})) == ["a-2"]
        assert ids(client.get(ALL, params={"status": ["CANCELLED", "PENDING"]})) == ["b-1", "a-2", "a-1"]
        assert ids(client.get(ALL, params={"priority": "CRITICAL"})) == ["b-1"]
        assert ids(client.get(ALL, params={"priority": ["0", "HIGH"]})) == ["b-1", "a-2"]
        assert ids(client.get(ALL, params={"user": "bob"})) == ["b-1", "a-2"]
        assert ids(client.get(ALL, params={"action": "resize", "user": "ann"})) == ["a-1"]
        assert ids(client.get(ALL, params={"lane": "elsewhere"})) == []
        assert ids(client.get(ALL, params={"text": "a-"})) == ["a-2", "a-1"]
        assert ids(client.get(ALL, params={"text": "res"})) == ["b-1", "a-1"]
        assert ids(client.get(ALL, params={"text": "A-"})) == []
        assert ids(client.get(ALL, params={"text": "%"})) == []
        at = client.get(f"{V1}/executions/a-2").json()["accepted_at"]
        assert ids(client.get(ALL, params={"from": "2001-01-01T00:00:00Z", "to": at})) == ["a-1"]
        assert ids(client.get(ALL, params={"from": "2100-01-01T00:00:00+02:00"})) == []


def test_pages_are_walked_there_and_back_while_more_arrives(api: Api) -> None:
    names = [f"e-{number:02}" for number in range(23)]
    for name in names:
        send(api, name)
    api.catch_up()
    with api.client(api.token("root", "admin")) as client:
        page = client.get(ALL, params={"limit": 10, "total": True}).json()
        assert (page["total"], page["previous"]) == (23, None)
        seen = [[each["execution_id"] for each in page["executions"]]]
        send(api, "late")
        api.catch_up()
        while page["next"]:
            page = client.get(ALL, params={"limit": 10, "cursor": page["next"]}).json()
            seen.append([each["execution_id"] for each in page["executions"]])
        assert [one for some in seen for one in some] == names[::-1]
        assert [len(some) for some in seen] == [10, 10, 3]
        page = client.get(ALL, params={"limit": 10, "cursor": page["previous"]}).json()
        assert [each["execution_id"] for each in page["executions"]] == seen[1]
        page = client.get(ALL, params={"limit": 20, "cursor": page["previous"]}).json()
        assert [each["execution_id"] for each in page["executions"]] == ["late", *seen[0]]
        assert page["previous"] is None


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


def test_who_held_a_gate_is_told_to_those_who_see_it_and_is_a_number_to_others(api: Api) -> None:
    api.queue.controls.set_limit("tenant:acme", 2)
    for name, user in (("anns", "ann"), ("bobs", "bob"), ("waits", "ann")):
        send(api, name, user=user, gates=["tenant:acme"])
    assert len(api.queue.transitions.admit(("executions",), 3).grants) == 2
    begun_ms = api.queue.views.server_time_ms()
    wait_until(lambda: api.queue.views.server_time_ms() > begun_ms, what="another millisecond")
    api.catch_up()
    for owner, scope, seen in (("ann", "read", {"anns"}), ("op", "operate", {"anns", "bobs"})):
        with api.client(api.token(owner, scope)) as client:
            answer = client.get(f"{V1}/executions/waits/waits").json()
        (wait,) = answer["waits"]
        assert (wait["attempt"], wait["ended_by"], answer["complete"]) == (1, None, True)
        assert wait["ms"] == sum(part["ms"] for part in wait["parts"])
        part = next(part for part in wait["parts"] if part["cause"] == "gate")
        assert (part["name"], part["limit"], part["holder_count"]) == ("tenant:acme", 2, 2)
        assert {each["execution_id"] for each in part["holders"]} == seen
    with api.client(api.token("bob", "read")) as client:
        assert client.get(f"{V1}/executions/waits/waits").status_code == 404


def test_the_row_of_an_execution_is_read_once_for_what_it_waited_for(api: Api) -> None:
    send(api, "one")
    api.catch_up()
    rows: list[str] = []

    def hear(_: Any, __: Any, statement: str, ___: Any, ____: Any, _____: bool) -> None:
        if "FROM executions" in statement:
            rows.append(statement)

    with api.client(api.token("op", "operate")) as client:
        event.listen(Engine, "before_cursor_execute", hear)
        try:
            answer = client.get(f"{V1}/executions/one/waits").json()
        finally:
            event.remove(Engine, "before_cursor_execute", hear)
    assert len(answer["waits"]) == 1
    assert len(rows) == 1, rows


def test_of_waits_that_the_ledger_has_not_read_nothing_is_made_up(api: Api) -> None:
    send(api, "new")
    with api.client(api.token("ann", "read")) as client:
        answer = client.get(f"{V1}/executions/new/waits").json()
    assert (answer["waits"], answer["complete"]) == ([], False)


def test_refusals_under_its_id_are_none_of_its_transitions(api: Api) -> None:
    send(api, "one")
    with api.client(api.token("bob", "submit")) as client:
        for _ in range(3):
            assert client.post(f"{V1}/executions/", json={"command": ["x"], "execution_id": "one"}).status_code == 409
    api.catch_up()
    with api.client(api.token("ann", "read")) as client:
        steps = client.get(f"{V1}/executions/one/timeline").json()["steps"]
    assert [step["verb"] for step in steps] == ["park"]


def test_ones_own_dead_letter_is_found_behind_many_of_others(api: Api) -> None:
    for name, user in [("mine", "ann"), *((f"b-{number}", "bob") for number in range(MOST_A_PAGE + 1))]:
        send(api, name, user=user)
        api.queue.try_schedule()
        api.queue.transitions.settle(Release(name, 1, State.FAILED, reason="crashed", dead=True))
    with api.client(api.token("ann", "read")) as client:
        assert ids(client.get(f"{V1}/executions/dead")) == ["mine"]


def test_without_the_ledger_nobody_learns_whether_anothers_lives(api: Api) -> None:
    send(api, "bobs", user="bob")
    with api.client(api.token("ann", "read")) as client:
        assert client.get(f"{V1}/executions/bobs").status_code == 404
        with api.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
        answers = {client.get(f"{V1}/executions/{name}").status_code for name in ("bobs", "nobodys")}
    assert answers == {503}


def test_the_queue_is_counted(api: Api) -> None:
    for number in range(3):
        send(api, f"n-{number}")
    send(api, "h", user="bob", priority="HIGH")
    api.queue.try_schedule()
    with api.client(api.token("ann", "read")) as client:
        status = client.get(f"{V1}/executions/queue").json()
    assert (status["queue_depth"], status["active_count"], status["max_concurrent"]) == (3, 1, 10)
    assert status["by_priority"] == {"CRITICAL": 0, "HIGH": 0, "NORMAL": 3, "LOW": 0, "BACKGROUND": 0}
    assert (status["own_waiting"], status["source"]) == (3, "redis")


def test_without_the_ledger_only_history_is_missing(api: Api) -> None:
    send(api, "one")
    with api.client(api.token("root", "admin")) as client:
        assert client.get(f"{V1}/whoami").status_code == 200
        with api.database.writing() as connection:
            connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
        assert client.get(f"{V1}/executions/one").json()["state"] == "PENDING"
        assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 1
        for path in (ALL, f"{V1}/executions/unknown"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable"), answer.text
            assert answer.headers["Retry-After"] == "5"


def test_an_empty_history_is_as_of_its_beginning(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        assert not client.get(ALL).json()["as_of"].startswith("1970")


def test_what_lives_is_listed_without_a_ledger(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    with api.database.writing() as connection:
        connection.exec_driver_sql("ALTER TABLE executions RENAME TO gone")
    for name, user in (("runs", "ann"), ("a", "ann"), ("b", "bob"), ("c", "ann")):
        send(api, name, user=user)
    send(api, "later", user="ann", scheduled_at=datetime.now(UTC) + timedelta(hours=1))
    api.queue.try_schedule()
    url = f"{V1}/executions/living"

    def listed(client: httpx.Client, **params: Any) -> tuple[list[tuple[str, int | None]], bool]:
        answer = client.get(url, params=params)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return [(each["execution_id"], each["position"]) for each in found["executions"]], found["complete"]

    with api.client(api.token("root", "operate")) as client:
        assert listed(client, group="running") == ([("runs", None)], True)
        assert listed(client, group="waiting") == ([("a", 0), ("b", 1), ("c", 2)], True)
        assert listed(client, group="waiting", limit=2) == ([("a", 0), ("b", 1)], False)
        assert listed(client, group="waiting", user="bob") == ([("b", 1)], True)
        assert listed(client, group="scheduled") == ([("later", None)], True)
        assert listed(client, group="waiting", action="other") == ([], True)
        monkeypatch.setattr(living, "SEARCHED", 1)
        assert listed(client, group="waiting", user="bob") == ([], False), "it was not looked at"
        assert client.get(url, params={"group": "ended"}).status_code == 422
    monkeypatch.undo()
    with api.client(api.token("ann", "read")) as client:
        assert listed(client, group="waiting") == ([("a", 0), ("c", 2)], True)
        assert client.get(url, params={"group": "waiting", "user": "bob"}).status_code == 403


def test_dead_letters_are_listed_tried_again_and_dropped(api: Api) -> None:
    for name, user in (("a", "ann"), ("b", "bob"), ("c", "ann")):
        send(api, name, user=user)
        api.queue.try_schedule()
        api.queue.transitions.settle(Release(name, 1, State.FAILED, reason="crashed", dead=True))
    with api.client(api.token("ann", "submit")) as client:
        listed = client.get(f"{V1}/executions/dead").json()
        assert [each["execution_id"] for each in listed["executions"]] == ["c", "a"]
        assert listed["dead_count"] == 3
        assert client.get(f"{V1}/executions/a").json()["dead"]
        assert client.post(f"{V1}/executions/b/retry").status_code == 404
        again = client.post(f"{V1}/executions/a/retry")
        assert (again.status_code, again.json()["position"]) == (201, 0)
        new = client.get(f"{V1}/executions/{again.json()['new_execution_id']}").json()
        assert (new["state"], new["user_id"]) == ("PENDING", "ann")
        assert client.delete(f"{V1}/executions/c/dead").status_code == 204
        second = client.post(f"{V1}/executions/c/retry")
        assert (second.status_code, second.json()["code"]) == (409, "not_dead")
    assert api.queue.views.dead() == ["b"]
