"""What the client follows: events and output, over connections that are cut; and lists page by page."""

import asyncio
import threading
from collections.abc import Callable, Generator
from contextlib import aclosing, closing
from typing import Any, Protocol

import httpx
import pytest
from calling import Api
from cutting import cutting_before

from bandmaster.admin.client import following, wire
from bandmaster.admin.client.following import Following
from bandmaster.admin.client.frames import Frame, Frames
from bandmaster.client import ApiProblem, ApiUnavailable, AsyncClient, Client, Event, Reset, calls, streams
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from waiting import wait_until

ECHO = ["echo", "hello"]
Told = Event | Reset


class Follower:
    """What a client gets, in a thread of its own, until it has what it waits for."""

    def __init__(self, follow: Callable[[Callable[[Any], bool]], None], enough: Callable[[list[Any]], bool]) -> None:
        self.got: list[Any] = []
        self.error: Exception | None = None

        def take(told: Any) -> bool:
            self.got.append(told)
            return enough(self.got)

        def run() -> None:
            try:
                follow(take)
            except Exception as error:  # noqa: BLE001 - a test looks at it
                self.error = error

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def join(self) -> list[Any]:
        self.thread.join(30)
        assert not self.thread.is_alive(), self.got
        if self.error is not None:
            raise self.error
        return self.got

    def ids(self) -> list[str | None]:
        return [told.execution_id for told in self.got if isinstance(told, Event)]


class Follow(Protocol):
    """Follows until there is enough."""

    def __call__(
        self, url: str, token: str, stream: streams.Stream[Any], enough: Callable[[list[Any]], bool] = ...
    ) -> Follower: ...


@pytest.fixture(params=["blocking", "asyncio"])
def follow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Follow:
    """Follows a stream by one of the clients until there is enough of it."""
    monkeypatch.setattr(following, "FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(following, "MOST_PAUSE_SECONDS", 0.05)

    def blocking(url: str, token: str, stream: streams.Stream[Any], take: Callable[[Any], bool]) -> None:
        with Client(url, token) as client, closing(client.follow(stream)) as all_told:
            for told in all_told:
                if take(told):
                    return

    async def awaiting(url: str, token: str, stream: streams.Stream[Any], take: Callable[[Any], bool]) -> None:
        async with AsyncClient(url, token) as client, aclosing(client.follow(stream)) as all_told:
            async for told in all_told:
                if take(told):
                    return

    def begun(
        url: str, token: str, stream: streams.Stream[Any], enough: Callable[[list[Any]], bool] = lambda _: False
    ) -> Follower:
        if request.param == "blocking":
            return Follower(lambda take: blocking(url, token, stream, take), enough)
        return Follower(lambda take: asyncio.run(awaiting(url, token, stream, take)), enough)

    return begun


def park(api: Api, *names: str) -> None:
    for name in names:
        api.queue.enqueue({"execution_id": name, "command": ECHO, "metadata": {"user_id": "ann"}})


def streams_at(api: Api) -> int:
    return api.services.hub.places.taken


def test_events_go_on_after_a_lost_connection_and_each_comes_once(api: Api, follow: Follow) -> None:
    token = api.token("ann", "read")
    with cutting_before(api.url) as proxy:
        follower = follow(proxy.url, token, streams.events(), lambda got: len(got) == 30)
        # A place is taken before the end of the journal is known; the answer begins afterwards.
        wait_until(lambda: any(b"text/event-stream" in each for each in proxy.answers), what="the follower")
        for round_number in range(3):
            names = [f"x{round_number}-{number}" for number in range(10)]
            park(api, *names[:5])
            wait_until(lambda first=names[4]: first in follower.ids(), what="the first half")
            proxy.cut()
            park(api, *names[5:])
            wait_until(lambda last=names[9]: last in follower.ids(), what="the second half")
        got = follower.join()
        assert [told.execution_id for told in got] == [f"x{r}-{n}" for r in range(3) for n in range(10)]
        assert {(told.verb, told.user_id, told.priority) for told in got} == {("park", "ann", "NORMAL")}
        assert sum(b"last-event-id" in each.lower() for each in proxy.requests) >= 3
    wait_until(lambda: streams_at(api) == 0, what="the end of the connection")


def test_whoever_comes_again_after_too_long_is_reset_and_goes_on(api: Api, follow: Follow) -> None:
    follower = follow(
        api.url, api.token("ann", "read"), streams.events("another.1-1.1"), lambda got: isinstance(got[-1], Event)
    )
    wait_until(lambda: follower.got, what="the reset")
    park(api, "x")
    got = follower.join()
    assert isinstance(got[0], Reset)
    assert got[1].execution_id == "x"


def test_what_may_have_been_missed_without_any_event_is_a_reset(api: Api, follow: Follow) -> None:
    with cutting_before(api.url) as proxy:
        follower = follow(proxy.url, api.token("ann", "read"), streams.events(), lambda got: len(got) == 1)
        wait_until(lambda: any(b"text/event-stream" in each for each in proxy.answers), what="the follower")
        proxy.cut()
        assert isinstance(follower.join()[0], Reset)


def test_a_token_that_is_revoked_ends_it_with_an_error(api: Api, follow: Follow) -> None:
    token = api.token("ann", "read")
    follower = follow(api.url, token, streams.events())
    wait_until(lambda: streams_at(api) == 1, what="the follower")
    token_id = token.split("_")[1]
    api.table.revoke(token_id, by="a test")
    api.services.keeper.forget(token_id)
    with pytest.raises(ApiProblem, match="unauthorized"):
        follower.join()


def test_what_is_refused_at_the_beginning_or_never_answers_is_told_at_once(api: Api, follow: Follow) -> None:
    with pytest.raises(ApiProblem, match="not_found"):
        follow(api.url, api.token("ann", "read"), streams.output("nobody")).join()
    with pytest.raises(ApiProblem, match="Last-Event-ID"):
        follow(api.url, api.token("ann", "read"), streams.events("x")).join()
    with pytest.raises(ApiUnavailable, match=r"127\.0\.0\.1:1"):
        follow("http://127.0.0.1:1", "bm_x_y", streams.events()).join()


def test_an_output_ends_when_its_execution_has_ended(api: Api, follow: Follow) -> None:
    park(api, "x")
    api.queue.transitions.admit(("executions",), 1)
    result = b'{"exit_code": 0, "output_tail": "one\\ntwo\\u2028three", "duration_seconds": 1.0}'
    api.queue.transitions.settle(Release("x", 1, State.COMPLETED, result=result))
    api.catch_up()
    got = follow(api.url, api.token("ann", "read"), streams.output("x")).join()
    assert "".join(getattr(told, "text", "") for told in got) == "one\ntwo\u2028three"
    assert (got[-1].state, got[-1].exit_code) == ("COMPLETED", 0)


def test_pauses_grow_and_differ_and_begin_anew_with_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 1.0])

    def draw(low: float, high: float) -> float:
        assert (low, high) == (0.5, 1.0)
        return next(drawn)

    monkeypatch.setattr(following.random, "uniform", draw)
    one = Following(streams.events())
    assert [one.pause_seconds() for _ in range(7)] == [1.0, 1.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    one.feed(b'id: a.1-1.1\nevent: park\ndata: {"verb":"park","at":"x"}\n\n', "")
    assert one.pause_seconds() == 0.75
    assert one.pause_seconds(at_least_seconds=9.0) == 9.0, "what the API asks for"
    assert one.request()["headers"]["Last-Event-ID"] == "a.1-1.1"


def pieces_of(data: bytes) -> Generator[list[bytes]]:
    for size in (1, 2, 3, 7, len(data)):
        yield [data[start : start + size] for start in range(0, len(data), size)]


def test_events_are_read_from_whatever_pieces_come() -> None:
    sent = ": alive\r\n\r\nid: 1\r\nevent: a\r\ndata: x\u2028y\r\n\r\n"
    sent += "data:one\ndata: two\n\nid: 3\n\nevent: b\rdata: é\r\r"
    expected = [Frame("a", "x\u2028y", "1"), Frame("message", "one\ntwo", None), Frame("b", "é", None)]
    for pieces in pieces_of(sent.encode() + b":\n"):
        frames = Frames()
        assert [frame for piece in pieces for frame in frames.feed(piece)] == expected
        assert frames.comments == 2


def test_what_never_ends_an_event_is_not_kept_without_bound() -> None:
    one = Following(streams.events())
    for _ in range(4):
        assert one.feed(b"x" * 1_048_576, "http://there") == []
    with pytest.raises(ApiUnavailable, match="none of its events"):
        one.feed(b"x", "http://there")
    with pytest.raises(ApiUnavailable, match="none of its events"):
        Following(streams.events()).feed(b"id: 1\nevent: park\ndata: []\n\n", "http://there")


def test_an_answer_that_is_no_stream_is_none(api: Api) -> None:
    request = httpx.Request("GET", "http://there/api")
    for answer in (httpx.Response(200, request=request), httpx.Response(302, request=request)):
        with pytest.raises(ApiUnavailable, match="http://there/"):
            Following(streams.events()).begin(answer)


def test_all_pages_are_got(api: Api) -> None:
    names = [f"x{number}" for number in range(7)]
    park(api, *names)
    api.catch_up()
    token = api.token("root", "admin")
    with Client(api.url, token) as client:
        pages = list(client.pages(calls.executions(limit=3, status=["PENDING"])))
        assert [len(page.executions) for page in pages] == [3, 3, 1]
        assert [each.execution_id for page in pages for each in page.executions] == names[::-1]

    async def counted() -> list[int]:
        async with AsyncClient(api.url, token) as client:
            return [len(page.executions) async for page in client.pages(calls.executions(limit=3))]

    assert asyncio.run(counted()) == [3, 3, 1]


@pytest.mark.parametrize("kind", ["submit", "upload"])
def test_a_submission_whose_answer_is_lost_is_one(api: Api, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(wire, "AGAIN_SECONDS", 0.01)
    with cutting_before(api.url) as proxy, Client(proxy.url, api.token("ann", "submit")) as client:
        proxy.to_swallow = 1
        accepted = client.submit(command=ECHO) if kind == "submit" else client.upload(b"print()", priority="LOW")
        heads = [each for each in proxy.requests if each.startswith(b"POST")]
    assert len(heads) == 2
    assert api.queue.views.pending() == [accepted.execution_id]
