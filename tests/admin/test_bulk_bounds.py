"""Changes of many, and whatever asks Redis for long, leave room for others; who gets none is told the truth."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from calling import V1, Api

from bandmaster.admin.api import bulk
from bandmaster.admin.services import BULKS_AT_ONCE, QUEUE_AT_ONCE
from waiting import GENEROUS_SECONDS, wait_until

PLAN, BULK, QUEUE = f"{V1}/executions/bulk/plan", f"{V1}/executions/bulk", f"{V1}/executions/queue"
CANCEL = {"action": "cancel"}


class Held:
    """Calls that last until a test lets them go on."""

    def __init__(self) -> None:
        self.count = 0
        self.goes_on = threading.Event()
        self._lock = threading.Lock()

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, when it may go on."""

        def held(*given: Any, **named: Any) -> Any:
            with self._lock:
                self.count += 1
            assert self.goes_on.wait(GENEROUS_SECONDS)
            return call(*given, **named)

        return held


@pytest.fixture
def held() -> Iterator[Held]:
    one = Held()
    yield one
    one.goes_on.set()


def send(api: Api, *execution_ids: str, user: str) -> None:
    api.queue.enqueue_many(
        [{"execution_id": each, "command": ["true"], "metadata": {"user_id": user}} for each in execution_ids]
    )


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    return answer.status_code, answer.json()["code"], answer.headers["Retry-After"]


def test_a_dry_run_looks_at_so_many_of_a_group_and_says_that_there_may_be_more(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(api, "runs", user="ann")
    assert api.queue.try_schedule() is not None
    send(api, "b-1", "b-2", user="bob")

    def planned(client: httpx.Client, **wish: Any) -> tuple[list[str], int, bool]:
        plan = client.post(PLAN, json=CANCEL | wish).json()
        return plan["execution_ids"], plan["count"], plan["more"]

    monkeypatch.setattr(bulk, "SEARCHED", 2)
    with api.client(api.token("ann", "submit")) as client:
        assert planned(client) == (["runs"], 1, False)
        send(api, "behind", user="ann")
        assert planned(client) == (["runs"], 1, True)
        assert planned(client, status=["PENDING"]) == ([], 0, True)
        assert planned(client, status=["RUNNING"]) == (["runs"], 1, False), "what waits is not looked at"
    monkeypatch.setattr(bulk, "MOST", 2)
    monkeypatch.setattr(bulk, "SEARCHED", 100)
    with api.client(api.token("op", "operate")) as client:
        assert planned(client) == (["b-1", "b-2"], 2, True)
        assert planned(client, user="ann") == (["behind", "runs"], 2, False)


@pytest.mark.parametrize("route", [PLAN, BULK])
def test_a_token_has_one_change_of_many_under_way_and_others_are_not_held_up(
    api: Api, monkeypatch: pytest.MonkeyPatch, held: Held, route: str
) -> None:
    send(api, "a", user="ann")
    with (
        api.client(api.token("ann", "submit")) as anns,
        api.client(api.token("op", "operate")) as operators,
        ThreadPoolExecutor(1) as executor,
    ):
        body = CANCEL if route == PLAN else {"ticket": anns.post(PLAN, json=CANCEL).json()["ticket"]}
        name = "selected" if route == PLAN else "read_records"
        with monkeypatch.context() as patched:
            patched.setattr(bulk, name, held.before(getattr(bulk, name)))
            first = executor.submit(anns.post, route, json=body)
            wait_until(lambda: held.count == 1, what="the first is under way")
        again = anns.post(PLAN, json=CANCEL)
        assert refusal(again) == (429, "too_many_bulks", "5")
        assert again.json()["detail"] == "1 at a time may change many, or count them, with one token"
        assert refusal(anns.post(BULK, json={"ticket": "x"})) == (429, "too_many_bulks", "5")
        assert anns.get(QUEUE).status_code == 200
        assert operators.post(PLAN, json=CANCEL).status_code == 201
        held.goes_on.set()
        assert first.result().status_code in (200, 201)
        assert anns.post(PLAN, json=CANCEL).status_code == 201, "it is done as soon as it is answered"


def test_changes_of_many_never_have_all_the_turns(api: Api, monkeypatch: pytest.MonkeyPatch, held: Held) -> None:
    assert BULKS_AT_ONCE < QUEUE_AT_ONCE
    monkeypatch.setattr(bulk, "selected", held.before(bulk.selected))
    tokens = [api.token(f"user-{number}", "submit") for number in range(BULKS_AT_ONCE + 1)]

    def plan(token: str) -> httpx.Response:
        with api.client(token) as client:
            return client.post(PLAN, json=CANCEL)

    with ThreadPoolExecutor(BULKS_AT_ONCE) as executor:
        under_way = [executor.submit(plan, token) for token in tokens[1:]]
        wait_until(lambda: held.count == BULKS_AT_ONCE, what="all are under way")
        assert refusal(plan(tokens[0])) == (429, "too_many_bulks", "5")
        held.goes_on.set()
        assert {each.result().status_code for each in under_way} == {201}
    assert plan(tokens[0]).status_code == 201


def test_who_gets_no_turn_is_not_told_that_redis_is_away(api: Api, monkeypatch: pytest.MonkeyPatch, held: Held) -> None:
    views = api.services.queue.views
    with (
        api.client(api.token("ann", "read")) as client,
        ThreadPoolExecutor(QUEUE_AT_ONCE) as executor,
        monkeypatch.context() as patched,
    ):
        patched.setattr(views, "status", held.before(views.status))
        under_way = [executor.submit(client.get, QUEUE) for _ in range(QUEUE_AT_ONCE)]
        wait_until(lambda: held.count == QUEUE_AT_ONCE, what="all turns are taken")
        answer = client.get(QUEUE)
        assert refusal(answer) == (503, "busy", "5")
        assert "24 requests ask Redis already" in answer.json()["detail"]
        held.goes_on.set()
        assert {each.result().status_code for each in under_way} == {200}
        assert client.get(QUEUE).status_code == 200
