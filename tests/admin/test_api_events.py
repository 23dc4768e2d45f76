"""Following what happens: who sees what, going on where one stopped, what is lost, and how a stream ends."""

import threading
import time
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from calling import V1, Api, api_on, signed_in
from following import Stream, following

from bandmaster.admin.api.standing import CHECKED_SECONDS
from bandmaster.admin.auth.keeper import FRESH_SECONDS
from bandmaster.admin.events.hub import MOST_MISSED, Hub
from bandmaster.admin.places import Places
from bandmaster.scheduler.engine.journal_following import Follower
from bandmaster.scheduler.model.rates import Rate
from waiting import GENEROUS_SECONDS, wait_until

DAMAGED: list[dict[str, Any]] = [
    {"verb": "park"},
    {"verb": "park", "id": "x", "at": 1, "band": "99"},
    {"verb": "park", "id": "x", "at": "9" * 30},
]


def send(api: Api, execution_id: str, user: str = "ann") -> None:
    api.queue.enqueue({"execution_id": execution_id, "command": ["secret"], "metadata": {"user_id": user}})


def has_nobody(api: Api) -> bool:
    hub: Any = api.services.hub
    return hub.places.taken == 0 and hub._reading.done()


@pytest.fixture
def operator(api: Api) -> str:
    return api.token("op", "operate")


def test_operators_see_everything_and_others_their_own(api: Api, operator: str) -> None:
    with following(api, operator) as all_of_it, following(api, api.token("ann", "read")) as anns:
        send(api, "a")
        send(api, "b", user="bob")
        api.queue.controls.set_limit("tenant:1", 2, by="somebody")
        api.queue.cancel("a", by="somebody")
        wait_until(lambda: len(all_of_it.events) == 4, what="four events")
        wait_until(lambda: len(anns.events) == 2, what="two events")
        assert all_of_it.seen() == [("park", "a"), ("park", "b"), ("limit", None), ("cancel", "a")]
        assert anns.seen() == [("park", "a"), ("cancel", "a")]
        park, _, limit, cancel = (each["data"] for each in all_of_it.events)
        assert (park["user_id"], park["priority"], park["lane"]) == ("ann", "NORMAL", "executions")
        assert (limit["name"], limit["to"], limit["by"]) == ("tenant:1", "2", "somebody")
        assert (cancel["state"], cancel["by"]) == ("CANCELLED", "somebody")
        assert "by" not in anns.events[1]["data"]
        assert "secret" not in str(all_of_it.events)


def test_a_rate_is_told_as_it_was_written(api: Api, operator: str) -> None:
    with following(api, operator) as stream:
        for rate in (Rate.read("100/m burst 5"), Rate.read("2/10s"), None):
            api.queue.controls.rates.set("tenant:1", rate, by="somebody")
        wait_until(lambda: len(stream.events) == 3, what="three events")
        told = [(each["data"].get("from"), each["data"].get("to")) for each in stream.events]
        assert told == [(None, "100/m burst 5"), ("100/m burst 5", "2/10s"), ("2/10s", None)]


def test_a_follower_goes_on_where_it_stopped(api: Api, operator: str) -> None:
    with following(api, operator) as first:
        send(api, "a")
        wait_until(lambda: first.events, what="an event")
    last = first.events[-1]["id"]
    api.queue.controls.change_setting("max_executions_per_user", 10_000, by="a test")
    for number in range(2_500):
        send(api, f"m-{number}")
    with following(api, operator, last) as again:
        send(api, "z")
        wait_until(lambda: again.seen()[-1:] == [("park", "z")], what="the last one")
        assert again.seen() == [
            ("set", None),
            *(("park", f"m-{number}") for number in range(2_500)),
            ("park", "z"),
        ]
    with following(api, operator, again.events[99]["id"]) as third:
        wait_until(lambda: third.seen()[-1:] == [("park", "z")], what="the last one")
        assert third.seen()[0] == ("park", "m-99")


def test_what_cannot_be_told_any_more_is_a_reset(api: Api, operator: str) -> None:
    with following(api, operator) as first:
        send(api, "a")
        wait_until(lambda: first.events, what="an event")
    incarnation, entry_id, count = first.events[0]["id"].split(".")
    for foreign in (
        *(f"other.{entry_id}.{count}", f"{incarnation}.{entry_id}.{int(count) + 1000}"),
        f"{incarnation}.5-0.1",
    ):
        with following(api, operator, foreign) as stream:
            send(api, f"after-{foreign[-9:]}")
            wait_until(lambda stream=stream: len(stream.events) >= 2, what="what follows the reset")
            assert stream.events[0]["event"] == "reset"
            assert stream.seen()[-1][0] == "park"
    with api.client(operator) as client:
        for wrong in ("x", "a.b.c", "1.2-3.-4", "a b.1-1.1", "a.1-1." + "9" * 200):
            answer = client.get(f"{V1}/events", headers={"Last-Event-ID": wrong})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), wrong


def test_who_missed_too_much_begins_anew(api: Api, operator: str) -> None:
    with following(api, operator) as first:
        send(api, "a")
        wait_until(lambda: first.events, what="an event")
    # Else what comes next is read for the follower that has just gone, and need not be read again.
    wait_until(lambda: has_nobody(api), what="nobody follows")
    client: Any = api.queue.scripts.client
    pipeline = client.pipeline()
    for _ in range(MOST_MISSED + 1):
        pipeline.xadd(api.queue.scripts.keys.named("journal"), {"verb": "tell", "id": "x", "at": 1})
    pipeline.execute()
    with following(api, operator, first.events[0]["id"]) as again:
        wait_until(lambda: again.events, what="an event")
        assert again.events[0]["event"] == "reset"


def test_an_emptied_server_is_a_reset_and_the_stream_goes_on(api: Api, operator: str) -> None:
    with following(api, operator) as stream:
        send(api, "a")
        wait_until(lambda: stream.events, what="an event")
        api.queue.scripts.client.flushdb()
        wait_until(lambda: stream.events[-1]["event"] == "reset", what="the reset")
        send(api, "b")
        wait_until(lambda: stream.seen()[-1] == ("park", "b"), what="what is new")


def test_a_revoked_token_ends_its_streams(api: Api) -> None:
    token = api.token("ann", "read")
    with following(api, token) as stream:
        api.table.revoke(token.split("_")[1], by="a test")
        assert stream.ended.wait(GENEROUS_SECONDS)
    # On a machine that has nothing else to do. How it is made up does not depend on the machine.
    assert CHECKED_SECONDS + FRESH_SECONDS <= 5


@pytest.mark.parametrize("end", ["sign out", "revoke", "idle", "flush"])
def test_a_session_that_ends_ends_its_streams(api: Api, end: str) -> None:
    token = api.token("ann", "read")
    with signed_in(api, token) as client, client.stream("GET", f"{V1}/events") as answer:
        assert answer.status_code == 200
        stream = Stream(answer)
        send(api, "a")
        wait_until(lambda: stream.events, what="an event")
        connection: Any = api.queue.scripts.client
        (name,) = connection.scan_iter("exec_queue:session:*")
        if end == "sign out":
            assert client.delete(f"{V1}/session").status_code == 204
        elif end == "revoke":
            api.table.revoke(token.split("_")[1], by="a test")
        elif end == "idle":
            # That it follows keeps it not.
            connection.pexpire(name, 2_500)
        else:
            connection.flushdb()
        assert stream.ended.wait(GENEROUS_SECONDS)
        assert not connection.exists(name) or end == "revoke"


def test_a_stream_ends_when_its_token_may_see_less(api: Api) -> None:
    token = api.token("op", "operate")
    with following(api, token) as stream:
        with api.database.writing() as connection:
            connection.exec_driver_sql("UPDATE tokens SET scopes = 'read'")
        assert stream.ended.wait(GENEROUS_SECONDS)


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_entry_is_a_reset_and_the_stream_goes_on(api: Api, operator: str, damaged: dict[str, Any]) -> None:
    with following(api, operator) as stream:
        send(api, "a")
        wait_until(lambda: stream.events, what="an event")
        client: Any = api.queue.scripts.client
        client.xadd(api.queue.scripts.keys.named("journal"), damaged)
        wait_until(lambda: stream.events[-1]["event"] == "reset", what="the reset")
        numbers = count()

        def has_gone_on() -> bool:
            # What comes right behind the damage may be left out with it.
            number = next(numbers)
            send(api, f"after-{number}", user=f"user-{number}")
            return any(name == "park" and (one or "").startswith("after-") for name, one in stream.seen())

        wait_until(has_gone_on, what="what is new")


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_entry_among_those_that_were_missed_is_a_reset(
    api: Api, operator: str, damaged: dict[str, Any]
) -> None:
    with following(api, operator) as first:
        send(api, "a")
        wait_until(lambda: first.events, what="an event")
    wait_until(lambda: has_nobody(api), what="nobody follows")
    client: Any = api.queue.scripts.client
    client.xadd(api.queue.scripts.keys.named("journal"), damaged)
    with following(api, operator, first.events[0]["id"]) as again:
        wait_until(lambda: again.names() == ["reset"], what="the reset")
        send(api, "b")
        wait_until(lambda: again.seen()[-1] == ("park", "b"), what="what is new")


def test_a_reading_that_has_ended_is_noticed_and_begins_again(
    api: Api, operator: str, caplog: pytest.LogCaptureFixture
) -> None:
    hub: Any = api.services.hub
    with following(api, operator) as one, following(api, operator) as other:
        send(api, "a")
        wait_until(lambda: one.events and other.events, what="an event at both")
        reading = hub._reading
        reading.get_loop().call_soon_threadsafe(reading.cancel)
        wait_until(lambda: one.names()[-1] == other.names()[-1] == "reset", what="the reset of both")
        send(api, "b")
        for stream in (one, other):
            wait_until(lambda stream=stream: len(stream.events) == 3, what="what is new")
            assert stream.seen() == [("park", "a"), ("reset", None), ("park", "b")]
    assert "following_ended" in caplog.text


def test_only_so_many_follow_what_happens(api: Api, operator: str) -> None:
    services = replace(
        api.services, hub=Hub(Follower(api.services.queue.scripts), Places(3, 2)), closing=threading.Event()
    )
    other = api.token("ann", "read")

    def status(api: Api, token: str) -> tuple[int, str | None, str | None]:
        with api.client(token) as client, client.stream("GET", f"{V1}/events") as answer:
            if answer.status_code == 200:
                return 200, None, None
            answer.read()
            return answer.status_code, answer.json()["code"], answer.headers.get("Retry-After")

    refused = (429, "too_many_followers", "5")
    with api_on(services) as url:
        bounded = replace(api, url=url, services=services)
        with following(bounded, operator):
            with following(bounded, operator):
                assert status(bounded, operator) == refused, "of one token"
                with following(bounded, other):
                    assert status(bounded, api.token("bob", "read")) == refused, "of all"
            wait_until(lambda: status(bounded, operator)[0] == 200, what="a place")


def test_a_follower_that_is_gone_leaves_nothing(api: Api, operator: str) -> None:
    for _ in range(3):
        with following(api, operator) as stream:
            send(api, f"a-{time.monotonic_ns()}")
            wait_until(lambda stream=stream: stream.events, what="an event")
        wait_until(lambda: has_nobody(api), what="nobody follows")


def test_fifty_follow_at_once(api: Api, operator: str) -> None:
    streams: list[Stream] = []
    with api.client(operator) as client:
        answers = [client.stream("GET", f"{V1}/events") for _ in range(50)]
        for answer in answers:
            streams.append(Stream(answer.__enter__()))
        for number in range(20):
            send(api, f"e-{number}")
        wait_until(lambda: all(len(each.events) == 20 for each in streams), what="all events at all followers")
        assert {tuple(each.seen()) for each in streams} == {tuple(("park", f"e-{n}") for n in range(20))}
        assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 20
        for answer in answers:
            answer.__exit__(None, None, None)
