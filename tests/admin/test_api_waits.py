"""What an execution waited for, as the API tells it; on every database."""

from typing import Any

import pytest
from calling import V1, Api
from sending import send
from sqlalchemy import Engine, event

from waiting import wait_until


@pytest.fixture
def api(every_api: Api) -> Api:
    return every_api


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
