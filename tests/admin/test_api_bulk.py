"""Changing many: the dry run changes nothing, its ticket changes what it counted, and each is checked once more."""

from typing import Any, Final

import pytest
from calling import V1, Api

from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

PLAN, BULK = f"{V1}/executions/bulk/plan", f"{V1}/executions/bulk"


def send(api: Api, execution_id: str, user: str = "ann", action: str = "pod") -> None:
    api.queue.enqueue(
        {"execution_id": execution_id, "command": ["true"], "action": action, "metadata": {"user_id": user}}
    )


def kill(api: Api, execution_id: str, user: str = "ann") -> None:
    send(api, execution_id, user)
    assert api.queue.try_schedule() is not None
    api.queue.transitions.settle(Release(execution_id, 1, State.FAILED, reason="crashed", dead=True))


def test_what_was_counted_is_cancelled_and_nothing_else(api: Api) -> None:
    for number in range(30):
        send(api, f"a-{number}")
        send(api, f"b-{number}", user="bob")
    with api.client(api.token("op", "operate")) as client:
        plan = client.post(PLAN, json={"action": "cancel", "user": "ann", "status": ["PENDING"]}).json()
        assert (plan["count"], plan["more"]) == (30, False)
        assert plan["execution_ids"] == [f"a-{number}" for number in range(20)]
        assert api.queue.get_queue_status()["queue_depth"] == 60, "a dry run changes nothing"
        send(api, "a-late")
        api.queue.cancel("a-0")
        done = client.post(BULK, json={"ticket": plan["ticket"]}).json()
        assert done == {"changed": 29, "skipped": 1, "failed": []}
        again = client.post(BULK, json={"ticket": plan["ticket"]})
        assert (again.status_code, again.json()["code"]) == (404, "not_found"), "a ticket is taken once"
    assert api.queue.views.meta("a-late")["state"] == "PENDING"
    assert api.queue.get_queue_status()["queue_depth"] == 31


@pytest.mark.parametrize(
    ("wish", "meant"),
    [
        ({"of_priority": ["HIGH", "LOW"]}, ["high", "low"]),
        ({"of_gate": "tenant:1"}, ["low", "gated"]),
        ({"of_gate": "tenant:1", "of_priority": ["LOW"]}, ["low"]),
        ({"of_gate": "tenant"}, []),
        ({"of_lane": "executions"}, ["high", "gated", "low"]),
        ({"of_lane": "another"}, []),
    ],
)
def test_priority_gate_and_lane_say_which_are_meant(api: Api, wish: dict[str, Any], meant: list[str]) -> None:
    for name, priority, gates in (
        ("high", "HIGH", []),
        ("low", "LOW", ["tenant:1"]),
        ("gated", "NORMAL", ["tenant:1"]),
    ):
        api.queue.enqueue({"execution_id": name, "command": ["true"], "priority": priority, "gates": gates})
    with api.client(api.token("op", "operate")) as client:
        plan = client.post(PLAN, json={"action": "cancel"} | wish).json()
        assert sorted(plan["execution_ids"]) == sorted(meant)
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json()["changed"] == len(meant)
    assert api.queue.get_queue_status()["queue_depth"] == 3 - len(meant)


def test_many_are_moved(api: Api) -> None:
    for number in range(3):
        send(api, f"r-{number}", action="resize")
        send(api, f"o-{number}")
    with api.client(api.token("op", "operate", max_band="HIGH")) as client:
        plan = client.post(PLAN, json={"action": "move", "of_action": "resize", "priority": "HIGH"}).json()
        api.queue.try_schedule()
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json() == {"changed": 2, "skipped": 1, "failed": []}
    assert api.queue.get_pending_by_priority()["HIGH"] == 2


def test_nobody_but_an_admin_moves_beyond_what_the_token_may_ask_for(api: Api) -> None:
    send(api, "a")
    text = api.token("op", "submit", "operate", max_band="HIGH")
    with api.client(text) as client:
        assert client.put(f"{V1}/executions/a/priority", json={"priority": "CRITICAL"}).status_code == 403
        assert client.post(PLAN, json={"action": "move", "priority": "CRITICAL"}).status_code == 403
        assert client.put(f"{V1}/executions/a/priority", json={"priority": "HIGH"}).status_code == 200
        plan = client.post(PLAN, json={"action": "move", "priority": "HIGH"}).json()
        with api.database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE tokens SET max_band = {int(Priority.LOW)}")
        api.services.keeper.forget(text.split("_")[1])
        assert client.post(BULK, json={"ticket": plan["ticket"]}).status_code == 403, "it allows less by now"
    with api.client(api.token("root", "admin", max_band="LOW")) as client:
        assert client.put(f"{V1}/executions/a/priority", json={"priority": "CRITICAL"}).status_code == 200
        plan = client.post(PLAN, json={"action": "move", "priority": "CRITICAL"}).json()
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json()["changed"] == 1


def test_dead_letters_are_retried_and_dropped(api: Api) -> None:
    for number in range(3):
        kill(api, f"d-{number}")
    with api.client(api.token("op", "operate")) as client:
        plan = client.post(PLAN, json={"action": "retry"}).json()
        api.queue.drop("d-1")
        api.queue.scripts.client.delete(api.queue.scripts.keys.event("d-2"))
        done = client.post(BULK, json={"ticket": plan["ticket"]}).json()
        assert (done["changed"], done["skipped"]) == (1, 1)
        assert [each["execution_id"] for each in done["failed"]] == ["d-2"]
        plan = client.post(PLAN, json={"action": "drop"}).json()
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json()["changed"] == 1
    assert api.queue.views.dead() == []
    assert api.queue.get_queue_status()["queue_depth"] == 1


def test_what_is_no_longer_what_was_asked_for_is_skipped(api: Api) -> None:
    for name in ("begun", "asked", "moved", "waits"):
        send(api, name)
    with api.client(api.token("op", "operate")) as client:
        waiting = client.post(PLAN, json={"action": "cancel", "status": ["PENDING"], "of_priority": ["NORMAL"]}).json()
        all_of_them = client.post(PLAN, json={"action": "cancel", "of_priority": ["NORMAL"]}).json()
        assert (waiting["count"], all_of_them["count"]) == (4, 4)
        for _ in range(2):
            assert api.queue.try_schedule() is not None
        api.queue.cancel("asked")
        api.queue.transitions.reprioritise("moved", Priority.LOW)
        done = client.post(BULK, json={"ticket": waiting["ticket"]}).json()
        assert done == {"changed": 1, "skipped": 3, "failed": []}
        assert not api.queue.views.meta("begun").get("cancel")
        done = client.post(BULK, json={"ticket": all_of_them["ticket"]}).json()
        assert done == {"changed": 1, "skipped": 3, "failed": []}
        assert api.queue.views.meta("begun")["cancel"] == "CANCELLED"
    assert api.queue.views.meta("moved")["state"] == "PENDING"


def test_one_that_is_granted_between_the_look_and_the_change_goes_on(api: Api) -> None:
    send(api, "a")
    assert api.queue.try_schedule() is not None
    done = api.queue.transitions.cancel("a", among=frozenset({State.PENDING, State.SCHEDULED}))
    assert (done.code, done.state) == (Code.STALE, State.RUNNING)
    assert not api.queue.views.meta("a").get("cancel")


def test_a_redis_that_goes_away_on_the_way_leaves_a_report(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        send(api, f"a-{number}")
    goes_on, left = api.services.queue.transitions.cancel, iter(range(3))

    def breaks(*arguments: Any, **named: Any) -> Any:
        if next(left, None) is None:
            raise QueueUnavailable("it is away")
        return goes_on(*arguments, **named)

    monkeypatch.setattr(api.services.queue.transitions, "cancel", breaks)
    with api.client(api.token("op", "operate")) as client:
        plan = client.post(PLAN, json={"action": "cancel"}).json()
        done = client.post(BULK, json={"ticket": plan["ticket"]}).json()
    assert (done["changed"], done["skipped"]) == (3, 0)
    assert [each["execution_id"] for each in done["failed"]] == ["a-3", "a-4"]


def test_what_runs_again_is_held_to_what_the_token_may_submit(api: Api) -> None:
    bounds: dict[str, dict[str, object]] = {
        "urgent": {"priority": "CRITICAL"},
        "gated": {"gates": ["tenant:1"]},
        "foreign": {"action": "report"},
        "plain": {},
    }
    for name, more in bounds.items():
        api.queue.enqueue({**more, "execution_id": name, "command": ["true"], "metadata": {"user_id": "ann"}})
        assert api.queue.try_schedule() is not None
        api.queue.transitions.settle(Release(name, 1, State.FAILED, reason="crashed", dead=True))
    with api.client(api.token("ann", "submit", gates=("licence:*",))) as client:
        for name in ("urgent", "gated", "foreign"):
            answer = client.post(f"{V1}/executions/{name}/retry")
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        plan = client.post(PLAN, json={"action": "retry"}).json()
        done = client.post(BULK, json={"ticket": plan["ticket"]}).json()
        assert (done["changed"], done["skipped"]) == (1, 0)
        assert sorted(each["execution_id"] for each in done["failed"]) == ["foreign", "gated", "urgent"]
    assert sorted(api.queue.views.dead()) == ["foreign", "gated", "urgent"]
    with api.client(api.token("op", "operate")) as client:
        assert client.post(f"{V1}/executions/urgent/retry").status_code == 201


def test_an_owner_changes_its_own_only_and_a_ticket_is_its_tokens(api: Api) -> None:
    send(api, "a")
    send(api, "b", user="bob")
    anns = api.token("ann", "submit")
    with api.client(anns) as client:
        plan = client.post(PLAN, json={"action": "cancel"}).json()
        assert plan["execution_ids"] == ["a"]
        assert client.post(PLAN, json={"action": "cancel", "user": "bob"}).status_code == 403
        assert client.post(PLAN, json={"action": "move", "priority": "HIGH"}).status_code == 403
        with api.client(api.token("root", "admin")) as other:
            assert other.post(BULK, json={"ticket": plan["ticket"]}).status_code == 404
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json()["changed"] == 1
    with api.client(api.token("bob", "read")) as client:
        assert client.post(PLAN, json={"action": "cancel"}).status_code == 403
    assert api.queue.views.meta("b")["state"] == "PENDING"


def test_a_ticket_allows_no_more_than_its_token_does_by_now(api: Api) -> None:
    send(api, "a")
    send(api, "b", user="bob")
    text = api.token("ann", "submit", "operate")
    with api.client(text) as client:
        plan = client.post(PLAN, json={"action": "cancel"}).json()
        assert plan["count"] == 2
        with api.database.writing() as connection:
            connection.exec_driver_sql("UPDATE tokens SET scopes = 'submit'")
        api.services.keeper.forget(text.split("_")[1])
        assert client.post(BULK, json={"ticket": plan["ticket"]}).json() == {"changed": 1, "skipped": 1, "failed": []}
    assert api.queue.views.meta("b")["state"] == "PENDING"


WRONG: Final[list[dict[str, Any]]] = [
    {},
    {"action": "destroy"},
    {"action": "move"},
    {"action": "cancel", "priority": "HIGH"},
    {"action": "move", "priority": "SOON"},
    {"action": "cancel", "status": ["ASLEEP"]},
    {"action": "cancel", "of_action": "a b"},
    {"action": "cancel", "user": ""},
    {"action": "cancel", "surprise": 1},
]


def test_a_wrong_wish_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for body in WRONG:
        with subtests.test(body=body):
            with api.client(api.token("root", "admin")) as client:
                answer = client.post(PLAN, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text
