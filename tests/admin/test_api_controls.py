"""Limits, pauses, settings, figures and the audit of their changes; on every database."""

from datetime import datetime

import httpx
import pytest
from calling import V1, Api

from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.rates import Rate


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


AUTO = {"limit": 2, "limited_by": "crm", "declared": False, "auto": "auto(2,50)"}


def code_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_limits_are_set_shown_and_lifted(api: Api) -> None:
    with api.client(api.token("op", "operate")) as client:
        assert client.put(f"{V1}/limits/tenant:*", json={"limit": 2}).json()["limit"] == 2
        shown = client.get(f"{V1}/limits/tenant:a/b").json()
        assert (shown["limit"], shown["limited_by"]) == (2, "tenant:*")
        assert client.put(f"{V1}/limits/tenant:a/b", json={"limit": 5}).json()["limited_by"] == "tenant:a/b"
        assert client.get(f"{V1}/limits").json()["limits"][0]["gate"] == "tenant:*"
        assert client.delete(f"{V1}/limits/tenant:a/b").json()["limit"] == 2
        for body in ({"limit": -1}, {"limit": "2"}, {"limit": True}, {}):
            assert code_of(client.put(f"{V1}/limits/x", json=body)) == (422, "invalid"), body
        assert code_of(client.put(f"{V1}/limits/lane:x", json={"limit": 1})) == (422, "invalid")
    assert api.queue.controls.limits() == {"tenant:*": 2}


def test_a_limit_may_adjust_itself(api: Api) -> None:
    with api.client(api.token("op", "operate")) as client:
        assert client.put(f"{V1}/limits/crm", json={"limit": 1, "auto": "auto(2, 50)"}).json().items() >= AUTO.items()
        assert client.get(f"{V1}/limits/crm").json().items() >= AUTO.items()
        assert client.get(f"{V1}/limits").json()["limits"] == [AUTO | {"gate": "crm", "held": 0}]
        assert client.put(f"{V1}/limits/crm", json={"limit": 7}).json()["auto"] is None
        for text in ("auto(5,2)", "auto(0,2)", "auto", "auto(2,50) 3", "7", 7):
            assert code_of(client.put(f"{V1}/limits/crm", json={"limit": 3, "auto": text})) == (422, "invalid"), text
        of_a_kind = client.put(f"{V1}/limits/tenant:*", json={"limit": 3, "auto": "auto(2,50)"})
        assert (code_of(of_a_kind), "is a kind" in of_a_kind.text) == ((422, "invalid"), True)


def test_rates_are_set_shown_and_lifted(api: Api) -> None:
    with api.client(api.token("op", "operate")) as client:
        kind = {"rate": "100/m burst 5", "rated_by": "tenant:*", "declared": False}
        assert client.put(f"{V1}/rates/tenant:*", json={"rate": "100/m burst 5"}).json().items() >= kind.items()
        assert client.get(f"{V1}/rates/tenant:a/b").json().items() >= (kind | {"gate": "tenant:a/b"}).items()
        assert client.put(f"{V1}/rates/tenant:a/b", json={"rate": "1/10s"}).json()["rated_by"] == "tenant:a/b"
        listed = client.get(f"{V1}/rates").json()["rates"]
        assert [(each["gate"], each["rate"]) for each in listed] == [
            ("tenant:*", kind["rate"]),
            ("tenant:a/b", "1/10s"),
        ]
        api.queue.controls.rates.declare({"executions": {"tenant:a/b": Rate.read("3/d")}})
        declared = client.delete(f"{V1}/rates/tenant:a/b").json()
        assert (declared["rate"], declared["rated_by"], declared["declared"]) == ("3/d", "tenant:a/b", True)
        none = {"rate": None, "rated_by": None, "declared": False}
        assert client.get(f"{V1}/rates/licence:x").json().items() >= none.items()
        for rate in ("", "fast", "0/s", "1/0s", " 1/s", "1/s\n", "١/s", "1/400d", "1/s burst 0", 5, None):
            assert code_of(client.put(f"{V1}/rates/x", json={"rate": rate})) == (422, "invalid"), rate
        assert code_of(client.put(f"{V1}/rates/lane:x", json={"rate": "1/s"})) == (422, "invalid")
    assert {name: str(each.rate) for name, each in api.queue.controls.rates.all().items()} == {
        "tenant:*": "100/m burst 5",
        "tenant:a/b": "3/d",
    }


def test_pauses_begin_and_end(api: Api) -> None:
    with api.client(api.token("op", "operate")) as client:
        for name in ("*", "action:pod", "lane:executions"):
            assert client.put(f"{V1}/pauses/{name}").json() == {"name": name, "changed": True}
            assert client.put(f"{V1}/pauses/{name}").json()["changed"] is False
        assert set(client.get(f"{V1}/pauses").json()["paused"]) == {"*", "action:pod", "lane:executions"}
        assert {each["gate"] for each in client.get(f"{V1}/gates").json()["gates"] if each["paused"]} == {
            *("*", "action:pod", "lane:executions")
        }
        for name in ("*", "action:pod", "lane:executions"):
            assert client.delete(f"{V1}/pauses/{name}").json()["changed"] is True
        assert client.get(f"{V1}/pauses").json()["paused"] == {}


def test_a_setting_is_changed_by_who_saw_it(api: Api) -> None:
    url = f"{V1}/settings/max_concurrent_executions"
    with api.client(api.token("root", "admin")) as client:
        seen = client.get(url)
        assert (seen.json()["value"], seen.json()["lane"]) == (10, "executions")
        assert code_of(client.put(url, json={"value": 3})) == (428, "if_match_needed")
        changed = client.put(url, json={"value": 3}, headers={"If-Match": seen.headers["ETag"]})
        assert (changed.status_code, changed.json()["value"]) == (200, 3)
        stale = client.put(url, json={"value": 4}, headers={"If-Match": seen.headers["ETag"]})
        assert code_of(stale) == (412, "changed_meanwhile")
        assert api.queue.views.status().settings["max_concurrent_executions"] == 3
        assert client.put(url, json={"value": 4}, headers={"If-Match": "*"}).json()["value"] == 4
        assert code_of(client.put(url, json={"value": 4}, headers={"If-Match": "4"})) == (412, "changed_meanwhile")
        assert code_of(client.put(url, json={"value": -1}, headers={"If-Match": "*"})) == (422, "invalid")
        assert client.delete(url, headers={"If-Match": '"4"'}).json()["value"] == 10
        none = client.get(f"{V1}/settings/max_concurrent")
        assert (none.json()["value"], none.headers["ETag"]) == (None, '"none"')
        over_all = client.put(none.request.url.path, json={"value": 7}, headers={"If-Match": '"none"'})
        told = over_all.json()
        assert (told["name"], told["lane"], told["value"], told["source"]) == ("max_concurrent", None, 7.0, "redis")
        of_lane = client.put(f"{url}?lane=emails", json={"value": 2}, headers={"If-Match": '"none"'})
        assert of_lane.json()["lane"] == "emails"
        for path in (f"{V1}/settings/nothing", f"{V1}/settings/max_concurrent?lane=emails"):
            assert code_of(client.get(path)) == (404, "not_found")
            assert code_of(client.put(path, json={"value": 1}, headers={"If-Match": "*"})) == (404, "not_found")


def test_figures_of_an_action(api: Api) -> None:
    for number in range(3):
        api.queue.enqueue({"execution_id": f"r-{number}", "command": ["true"], "action": "core.http.get"})
    api.queue.controls.set_limit("action:core.http.get", 2)
    api.queue.try_schedule()
    with api.client(api.token("ann", "read")) as client:
        stats = client.get(f"{V1}/actions/core.http.get/queue-stats").json()
        assert (stats["queue_length"], stats["active_count"], stats["max_concurrent"]) == (2, 1, 2)
        assert (stats["total_enqueued"], stats["total_completed"]) == (3, 0)
        assert stats["oldest_enqueued_at"].endswith("Z")
        assert code_of(client.get(f"{V1}/actions/unknown/queue-stats")) == (404, "not_found")
        (action,) = client.get(f"{V1}/actions").json()["actions"]
        assert (action["action"], action["queue_length"], action["active_count"]) == ("core.http.get", 2, 1)
    with api.client(api.token("op", "operate")) as client:
        assert code_of(client.delete(f"{V1}/actions/core.http.get")) == (409, "in_use")
        assert code_of(client.delete(f"{V1}/actions/unknown")) == (404, "not_found")


def test_users_and_lanes_are_for_operators_and_gates_hide_other_users(api: Api) -> None:
    for number, user in enumerate(("ann", "bob", "bob")):
        api.queue.enqueue({"execution_id": f"u-{number}", "command": ["true"], "metadata": {"user_id": user}})
    api.queue.controls.set_limit("user:ann", 1)
    api.queue.controls.set_limit("user:bob", 1)
    with api.client(api.token("op", "operate")) as client:
        users = client.get(f"{V1}/users").json()["users"]
        assert [(each["user_id"], each["waiting"]) for each in users] == [("bob", 2), ("ann", 1)]
        (lane,) = client.get(f"{V1}/lanes").json()["lanes"]
        assert (lane["lane"], lane["live"], lane["executions"]) == ("executions", False, 3)
        assert len(client.get(f"{V1}/gates").json()["gates"]) == 2
    with api.client(api.token("ann", "read")) as client:
        gates = client.get(f"{V1}/gates").json()
        assert [each["gate"] for each in gates["gates"]] == ["user:ann"]
        assert gates["others"] == {"gates": 1, "held": 0, "waiting": 0}


def test_gates_tell_their_rates_and_weights_and_when_a_rate_opens_them(api: Api) -> None:
    api.queue.controls.rates.set("action:*", Rate.read("2/h"))
    api.queue.shares.weigh("user:bob", 10)
    api.queue.shares.share("executions", "user")
    for number in range(2):
        api.queue.enqueue({"execution_id": f"r-{number}", "command": ["true"], "action": "mail"})
    assert len(api.queue.transitions.admit(("executions",), 5).grants) == 1
    with api.client(api.token("op", "operate")) as client:
        answer = client.get(f"{V1}/gates").json()
        gates = {each["gate"]: each for each in answer["gates"]}
        assert gates.keys() == {"action:*", "action:mail", "user:bob"}
        mail = gates["action:mail"]
        assert (mail["rate"], mail["rated_by"], mail["rate_declared"]) == ("2/h", "action:*", False)
        opens, seen = (datetime.fromisoformat(each) for each in (mail["opens_at"], answer["as_of"]))
        assert 1_700 < (opens - seen).total_seconds() <= 1_800
        assert (gates["user:bob"]["weight"], mail["weight"], gates["user:bob"]["opens_at"]) == (10, 1, None)
        assert [each["fair_by"] for each in client.get(f"{V1}/lanes").json()["lanes"]] == ["user"]
    with api.client(api.token("ann", "read")) as client:
        answer = client.get(f"{V1}/gates").json()
        assert ({each["gate"] for each in answer["gates"]}, answer["others"]["gates"]) == (
            {"action:*", "action:mail"},
            1,
        )


def test_gates_of_other_customers_are_shown_only_to_who_operates_or_is_said_to_name_them(api: Api) -> None:
    for gate in ("tenant:ci", "tenant:secretcorp", "tenant:*", "action:resize"):
        api.queue.controls.set_limit(gate, 1)
        if not gate.endswith("*"):
            api.queue.controls.pause(gate)
    api.queue.controls.pause("*")

    def seen(client: httpx.Client) -> set[str]:
        gates = client.get(f"{V1}/gates").json()["gates"]
        return {each["gate"] for each in gates} | {*client.get(f"{V1}/pauses").json()["paused"]}

    everything = {"tenant:ci", "tenant:secretcorp", "tenant:*", "action:resize", "*"}
    with api.client(api.token("ci", "submit", gates=("tenant:ci",))) as client:
        assert seen(client) == everything - {"tenant:secretcorp"}
    with api.client(api.token("ann", "submit")) as client:
        assert seen(client) == everything - {"tenant:ci", "tenant:secretcorp"}
        assert client.get(f"{V1}/gates").json()["others"]["gates"] == 2
    for token in (
        api.token("all", "read", gates=("*",)),
        api.token("op", "submit", "operate", gates=("tenant:ci",)),
    ):
        with api.client(token) as client:
            assert seen(client) == everything


def test_what_no_database_can_hold_is_refused_under_its_name(api: Api) -> None:
    with api.client(api.token("root", "admin")) as client:
        for token_id in ("%00", "a%00b", "%F0%9F%98%80", "x" * 300):
            answer = client.delete(f"{V1}/tokens/{token_id}")
            assert (*code_of(answer), answer.json()["field"]) == (422, "invalid", "token_id"), token_id
        for path, field in (("audit", "subject"), ("executions/", "text"), ("executions/", "user")):
            answer = client.get(f"{V1}/{path}", params={field: "a\0b"})
            assert (*code_of(answer), answer.json()["field"]) == (422, "invalid", field), path
    with pytest.raises(InvalidRequest, match="token_id"):
        api.table.revoke("a\0b", by="a test")
