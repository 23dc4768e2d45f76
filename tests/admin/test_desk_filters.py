"""Every filter of the command line's desk counts through the API, whatever it lists and however much is before it."""

from collections.abc import Iterator
from typing import Any

import pytest
from calling import V1, Api

from bandmaster.admin.api import living
from bandmaster.cli.desk import api_executions
from bandmaster.cli.desk.api_executions import ApiExecutions
from bandmaster.client import Client
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.selecting import ANY, Wanted

HIGH = Wanted(None, None, None, priorities=frozenset({Priority.HIGH}))
GATED = Wanted(None, None, None, gate="tenant:1")
LATE = Wanted(None, None, None, lane="late")
PLAIN = Wanted(frozenset({State.PENDING, State.CANCELLED, State.FAILED}), "ann", "pod", lane="executions")
MEANT = [
    (HIGH, ["high"]),
    (GATED, ["gated"]),
    (LATE, ["late"]),
    (PLAIN, ["a-0", "a-1", "a-2", "gated", "high"]),
]


@pytest.fixture(autouse=True)
def pages_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_executions, "A_PAGE", 2)


@pytest.fixture
def desk(api: Api) -> Iterator[ApiExecutions]:
    with Client(api.url, api.token("op", "operate")) as client:
        yield ApiExecutions(client)


@pytest.fixture
def ids(api: Api) -> list[str]:
    """Those that wait; those that a filter means are behind others."""

    def send(execution_id: str, lane: str = "executions", **more: Any) -> None:
        api.queue.on(lane).enqueue(
            {**more, "execution_id": execution_id, "command": ["true"], "metadata": {"user_id": "ann"}}
        )

    for number in range(3):
        send(f"a-{number}")
    send("gated", gates=["tenant:1"])
    send("late", lane="late")
    send("high", priority="HIGH")
    return ["a-0", "a-1", "a-2", "gated", "late", "high"]


def listed(desk: ApiExecutions, group: str, wanted: Wanted, most: int = 9) -> tuple[list[str], bool]:
    found = desk.listed(group, wanted, most)
    return sorted(each.execution_id for each in found.records), found.more


def test_what_waits_is_found_behind_the_first_that_the_api_lists(
    desk: ApiExecutions, ids: list[str], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for wanted, meant in MEANT:
        with subtests.test(wanted=wanted), monkeypatch.context() as patched:
            assert len(listed(desk, "waiting", ANY)[0]) == 2
            if len(meant) > 1:
                patched.setattr(api_executions, "A_PAGE", 9)
            assert listed(desk, "waiting", wanted) == (meant, False)
            assert sorted(each.execution_id for each in desk.every("waiting", wanted)) == meant


def test_what_has_ended_is_filtered_and_read_until_enough_is_found(
    api: Api, desk: ApiExecutions, ids: list[str], subtests: pytest.Subtests
) -> None:
    for each in ids:
        api.queue.cancel(each)
    api.catch_up()
    for wanted, meant in MEANT:
        with subtests.test(wanted=wanted):
            assert listed(desk, "ended", wanted) == (meant, False)
            assert listed(desk, "ended", wanted, most=1)[1] is (len(meant) > 1)


def test_what_has_ended_is_not_searched_for_ever(
    api: Api, desk: ApiExecutions, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ids:
        api.queue.cancel(each)
    api.catch_up()
    monkeypatch.setattr(api_executions, "ENDED_SEARCHED", 4)
    assert listed(desk, "ended", Wanted(None, None, None, gate="tenant:2")) == ([], True)


def test_a_dead_letter_is_found_behind_the_latest(
    api: Api, desk: ApiExecutions, ids: list[str], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    granted = api.queue.transitions.admit(("executions", "late"), len(ids), lease_ms=60_000).grants
    for each in sorted((grant.execution_id for grant in granted), reverse=True):
        api.queue.transitions.settle(Release(each, 1, State.FAILED, reason="crashed", dead=True))
    for wanted, meant in MEANT:
        with subtests.test(wanted=wanted), monkeypatch.context() as patched:
            assert len(listed(desk, "dead", ANY)[0]) == 2
            if len(meant) > 1:
                patched.setattr(api_executions, "A_PAGE", 9)
            assert listed(desk, "dead", wanted) == (meant, False)
    with api.client(api.token("ann", "read")) as client:
        assert client.get(f"{V1}/executions/dead", params={"user": "bob"}).status_code == 403
        monkeypatch.setattr(living, "SEARCHED", 1)
        answer = client.get(f"{V1}/executions/dead", params={"gate": "tenant:2"}).json()
        assert (answer["executions"], answer["complete"]) == ([], False), "it was not looked at"
