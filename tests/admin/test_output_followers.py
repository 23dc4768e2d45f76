"""Who follows an output: what they may, how many, and that a cluster that hangs holds up only them."""

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from calling import V1, Api, api_on
from following import following
from printing import Work, ann, path_of, work

from bandmaster.admin.output.followers import MOST, MOST_OF_TOKEN, Followers
from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.output import Closing, Piece
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

__all__ = ["ann", "work"]


def test_what_is_followed_and_by_whom(api: Api, work: Work, ann: str) -> None:
    work.send()
    for token, status in ((api.token("bob", "read"), 404), (api.token("op", "operate"), 403)):
        with api.client(token) as client:
            assert client.get(f"{V1}{path_of()}").status_code == status
    with following(api, api.token("root", "admin"), path="/admin" + path_of()) as stream:
        wait_until(lambda: stream.names() == ["state"], what="the state")
        api.queue.cancel("x", by="a test")
        assert stream.ended.wait(GENEROUS_SECONDS)
    assert stream.events[-1]["data"] == {"state": "CANCELLED", "attempt": 0, "reason": "cancelled", "exit_code": None}
    with api.client(ann) as client:
        assert client.get(f"{V1}{path_of('nobody')}").status_code == 404
        for wrong in ("x", "1", "1.-2", "0.1", "1.2.3", "١.2", "1." + "9" * 30):
            answer = client.get(f"{V1}{path_of()}", headers={b"Last-Event-ID": wrong.encode()})
            assert (answer.status_code, answer.json()["field"]) == (422, "Last-Event-ID"), wrong


def test_only_so_many_follow_at_once(api: Api, work: Work, ann: str) -> None:
    work.send()
    followers = api.services.followers
    with httpx.Client(base_url=api.url, timeout=60, limits=httpx.Limits(max_connections=2 * MOST)) as client:
        tokens = [ann, *(api.token(f"admin-{number}", "admin") for number in range(MOST // MOST_OF_TOKEN))]

        def follow(token: str) -> Any:
            return client.stream("GET", f"{V1}{path_of()}", headers={"Authorization": f"Bearer {token}"})

        streams = [follow(tokens[number // MOST_OF_TOKEN]) for number in range(MOST)]
        answers = [each.__enter__() for each in streams]
        assert {each.status_code for each in answers} == {200}
        for token in tokens:
            with follow(token) as refused:
                refused.read()
                assert (refused.status_code, refused.json()["code"]) == (429, "too_many_followers")
                assert refused.headers["Retry-After"] == "5"
        streams[0].__exit__(None, None, None)

        def is_free() -> bool:
            with follow(ann) as answer:
                return answer.status_code == 200

        wait_until(is_free, what="a place")
        for each in streams[1:]:
            each.__exit__(None, None, None)
    wait_until(lambda: not followers.places.taken, what="nobody follows")


def test_a_revoked_token_ends_what_it_follows_even_if_nothing_is_read(api: Api, work: Work) -> None:
    token = api.token("ann", "read")
    work.started("yes")
    followers = api.services.followers
    place = urlsplit(api.url)
    with socket.create_connection((place.hostname, place.port)) as stuck, following(api, token, path=path_of()) as one:
        stuck.sendall(
            f"GET {V1}{path_of()} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        wait_until(lambda: followers.places.taken == 2, what="both follow")
        wait_until(lambda: one.events, what="an event")
        api.table.revoke(token.split("_")[1], by="a test")
        assert one.ended.wait(GENEROUS_SECONDS)
        wait_until(lambda: not followers.places.taken, what="nobody follows")
        wait_until(lambda: not vars(followers)["_reading"], what="no thread reads")


class HangingPods(LocalPods):
    """A cluster that does not answer until the test lets it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.answers = threading.Event()
        self.asked = threading.Semaphore(0)

    def follow(
        self, name: str, closing: Closing, *, after: int | None = None, tail_bytes: int | None = None
    ) -> Iterator[Piece]:
        self._hang()
        return super().follow(name, closing, after=after, tail_bytes=tail_bytes)

    def logs(self, name: str, *, follow: bool = False, tail_bytes: int | None = None) -> Iterator[bytes]:
        self._hang()
        return super().logs(name, follow=follow, tail_bytes=tail_bytes)

    def _hang(self) -> None:
        self.asked.release()
        assert self.answers.wait(10 * GENEROUS_SECONDS)
        raise PodsUnavailable("the API server's answer was lost")


def test_a_cluster_that_hangs_holds_up_only_who_asks_it(api: Api, work: Work, ann: str, tmp_path: Path) -> None:
    pods = HangingPods(tmp_path)
    work.started("echo one; sleep 60")
    services = replace(api.services, pods=lambda: pods, followers=Followers(), closing=threading.Event())
    with api_on(services) as url:
        hanging = replace(api, url=url, services=services)
        with (
            following(hanging, ann, path=path_of()) as stream,
            httpx.Client(
                base_url=url,
                headers={"Authorization": f"Bearer {ann}"},
                timeout=60,
                limits=httpx.Limits(max_connections=100),
            ) as client,
        ):
            assert pods.asked.acquire(timeout=GENEROUS_SECONDS)
            answers: list[httpx.Response] = []
            asking = [
                threading.Thread(target=lambda: answers.append(client.get(f"{V1}/executions/x/logs")), daemon=True)
                for _ in range(40)
            ]
            for each in asking:
                each.start()
            for _ in range(8):
                assert pods.asked.acquire(timeout=GENEROUS_SECONDS)
            for _ in range(20):
                assert client.get(f"{V1}/executions/queue").status_code == 200
                assert client.get("/readyz").status_code == 200
            assert len(answers) < 40, "the cluster hangs still"
            pods.answers.set()
            for each in asking:
                each.join(30)
            assert {(each.status_code, each.json()["code"]) for each in answers} == {(503, "pods_unavailable")}
            assert not stream.ended.is_set(), "it waits for the cluster"
            api.queue.transitions.settle(
                Release("x", 1, State.COMPLETED, reason="Completed", result=b'{"output_tail": "kept"}')
            )
            assert stream.ended.wait(GENEROUS_SECONDS)
            assert stream.text() == "kept"


def test_what_hangs_with_the_cluster_does_not_keep_the_api_from_ending(api: Api, work: Work, tmp_path: Path) -> None:
    pods = HangingPods(tmp_path)
    work.started("sleep 60")
    services = replace(api.services, pods=lambda: pods, followers=Followers(), closing=threading.Event())
    with api_on(services) as url, following(replace(api, url=url), api.token("ann", "read"), path=path_of()) as stream:
        assert pods.asked.acquire(timeout=GENEROUS_SECONDS)
        services.closing.set()
        assert stream.ended.wait(GENEROUS_SECONDS)
    pods.answers.set()
