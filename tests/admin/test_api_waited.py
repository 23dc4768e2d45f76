"""What executions waited for, summed: to whom which names are told, and that nothing is lost of the sums."""

from typing import Any

import pytest
from calling import V1, Api

from bandmaster.ledger.waits.attributing import Cause, Part
from bandmaster.ledger.waits.ended import Owner
from bandmaster.ledger.waits.episodes import Wait
from bandmaster.ledger.waits.spans import Span
from bandmaster.ledger.waits.summary import MOST_NAMES, MOST_PARTS
from bandmaster.ledger.waits.sums import HOUR_MS, Counted, WaitSums, write_sums
from bandmaster.ledger.waits.telling import Waited
from bandmaster.scheduler.model.times import iso_of


@pytest.fixture
def api(every_api: Api) -> Api:
    every_api.catch_up()
    return every_api


def ended(
    api: Api, ms: int, *parts: tuple[Cause, str], action: str = "pod", user: str | None = None, hours_ago: float = 0
) -> None:
    """A wait ended so long ago, of as much time for each of its causes."""
    at_ms = api.queue.views.server_time_ms() - int(hours_ago * HOUR_MS)
    sums, owner = WaitSums(), Owner(action, user, "executions", 0)
    told = [Part(cause, name, ms) for cause, name in parts]
    wait = Wait(1, Span(at_ms - ms * len(told), at_ms), None, "admit")
    sums.add(Waited(wait, told, sampled=False), at_ms, owner, owner)
    write(api, sums)


def write(api: Api, sums: WaitSums) -> None:
    with api.database.writing() as connection:
        write_sums(connection, sums, 1_000)


def asked(api: Api, owner: str, scope: str, path: str = "waits", **query: str) -> dict[str, Any]:
    with api.client(api.token(owner, scope)) as client:
        # What is read is as old as the journal, and nothing was ever written into it here.
        given = {"from": iso_of(api.queue.views.server_time_ms() - 24 * HOUR_MS) or ""}
        given |= {"to": iso_of(api.queue.views.server_time_ms() + HOUR_MS) or ""}
        answer = client.get(f"{V1}/{path}", params=given | {name.strip("_"): value for name, value in query.items()})
        assert answer.status_code == 200, answer.text
        return answer.json()


def shown(answer: dict[str, Any]) -> dict[str | None, dict[tuple[str, str | None], int]]:
    for each in answer["sums"]:
        assert sum(part["ms"] for part in each["parts"]) == each["ms"]
    return {
        each["name"]: {(part["cause"], part["behind"]): part["ms"] for part in each["parts"]} for each in answer["sums"]
    }


def test_sums_by_action_user_and_gate(api: Api) -> None:
    ended(api, 30, (Cause.GATE, "tenant:acme"), (Cause.THREAD, ""), user="ann")
    ended(api, 8, (Cause.GATE, "tenant:acme"), (Cause.PAUSE, "*"), (Cause.LANE, "mail"), user="bob")
    ended(api, 100, (Cause.EVERYTHING, ""), action="zip", hours_ago=2)
    ended(api, 10**6, (Cause.THREAD, ""), hours_ago=30)
    answer = asked(api, "root", "admin", "admin/waits")
    assert (answer["source"], answer["by"]) == ("ledger", "action")
    assert [answer[name] for name in ("waits", "summed", "sampled", "incomplete")] == [3, 3, 0, 0]
    assert [(each["name"], each["waits"]) for each in answer["sums"]] == [("zip", 1), ("pod", 2)]
    assert shown(answer)["pod"] == {
        ("gate", "tenant:acme"): 38,
        ("thread", None): 30,
        ("pause", "*"): 8,
        ("lane", "lane:mail"): 8,
    }
    assert shown(asked(api, "root", "admin", by="gate")) == {
        "*": {("everything", None): 100, ("pause", None): 8},
        "tenant:acme": {("gate", None): 38},
        "lane:mail": {("lane", None): 8},
    }
    of_users = shown(asked(api, "op", "operate", by="user"))
    assert {name: sum(parts.values()) for name, parts in of_users.items()} == {"ann": 60, "bob": 24}


def test_names_of_others_are_not_told(api: Api) -> None:
    ended(api, 30, (Cause.GATE, "tenant:acme"), (Cause.GATE, "user:ann"), user="ann")
    ended(api, 8, (Cause.GATE, "user:bob"), user="bob")
    assert shown(asked(api, "bob", "read", by="user")) == {"bob": {("gate", "user:bob"): 8}}
    assert asked(api, "bob", "read", by="user")["waits"] == 1
    assert shown(asked(api, "bob", "read")) == {"pod": {("gate", None): 60, ("gate", "user:bob"): 8}}
    assert shown(asked(api, "bob", "read", by="gate")) == {"user:bob": {("gate", None): 8}, None: {("gate", None): 60}}


def test_what_is_too_much_for_an_answer_is_summed_as_all_others(api: Api) -> None:
    names = [f"a-{number:03}" for number in range(MOST_NAMES + 5)]
    for name in names[:-1]:
        ended(api, 7, (Cause.THREAD, ""), action=name)
    ended(api, 9, *((Cause.GATE, f"tenant:{number}") for number in range(MOST_PARTS + 3)), action=names[-1])
    answer = asked(api, "op", "operate")
    assert [each["name"] for each in answer["sums"]] == [names[-1], *names[: MOST_NAMES - 1], None]
    assert (answer["sums"][-1]["ms"], answer["sums"][-1]["waits"]) == (35, 5)
    assert len(answer["sums"][0]["parts"]) == MOST_PARTS + 1
    assert shown(answer)[names[-1]][("gate", None)] == 27


def test_the_share_that_the_sums_cover_is_told(api: Api) -> None:
    owner, now_ms = Owner("pod", None, "executions", 0), api.queue.views.server_time_ms()
    ended(api, 5, (Cause.THREAD, ""))
    sums = WaitSums()
    for counted in (Counted.INCOMPLETE, Counted.PASSED_OVER, Counted.PASSED_OVER, Counted.NO_WAIT):
        sums.add(counted, now_ms, owner, owner)
    write(api, sums)
    answer = asked(api, "ann", "read")
    assert [answer[name] for name in ("waits", "summed", "sampled", "incomplete")] == [4, 1, 0, 1]
    assert [(each["waits"], each["summed"]) for each in answer["sums"]] == [(4, 1)]


def test_a_day_is_meant_if_nothing_is_said_and_a_kind_that_is_none_is_refused(api: Api) -> None:
    with api.client(api.token("ann", "read")) as client:
        assert client.get(f"{V1}/waits").json()["by"] == "action"
        assert client.get(f"{V1}/waits", params={"by": "lane"}).status_code == 422
        assert client.get(f"{V1}/admin/waits").status_code == 403
