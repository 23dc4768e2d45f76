"""Lists of executions: filters, pages, dead letters, and the queue as it is; on every database."""

import pytest
from calling import V1, Api
from sending import ALL, ids, send

from bandmaster.admin.api.living import MOST_A_PAGE
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from waiting import wait_until


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


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


def test_an_empty_history_is_as_of_its_beginning(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        assert not client.get(ALL).json()["as_of"].startswith("1970")


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


def test_ones_own_dead_letter_is_found_behind_many_of_others(api: Api) -> None:
    for name, user in [("mine", "ann"), *((f"b-{number}", "bob") for number in range(MOST_A_PAGE + 1))]:
        send(api, name, user=user)
        api.queue.try_schedule()
        api.queue.transitions.settle(Release(name, 1, State.FAILED, reason="crashed", dead=True))
    with api.client(api.token("ann", "read")) as client:
        assert ids(client.get(f"{V1}/executions/dead")) == ["mine"]


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
