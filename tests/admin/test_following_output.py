"""Following what an execution prints: what is told, going on where one stopped, who may, and how a stream ends."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from calling import V1, Api, api_on
from following import following

from bandmaster.admin.output.followers import MOST, MOST_OF_TOKEN, Followers
from bandmaster.admin.output.telling import MOST_BYTES, Teller
from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.output import Closing, Piece
from bandmaster.k8s.pods import PodSpec, PodStatus
from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.model.states import State
from waiting import wait_until

HELD = "until [ -e go ]; do sleep 0.01; done"
"""Until the test lets it go on."""


class Work:
    """Executions of ann, whose pods the test makes as a worker would."""

    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        self.pods = LocalPods(folder, LocalLimits(grace_seconds=0.2))
        self._folder = folder

    def send(self, execution_id: str = "x") -> None:
        self.api.queue.enqueue({"execution_id": execution_id, "command": ["true"], "metadata": {"user_id": "ann"}})

    def grant(self) -> None:
        self.api.queue.maintenance.promote()
        assert self.api.queue.try_schedule() is not None

    def run(self, line: str, execution_id: str = "x", attempt: int = 1) -> PodStatus:
        """Hand an execution that was granted over to its pod."""
        pod = self.pods.create(
            PodSpec(
                execution_id=execution_id,
                attempt=attempt,
                action="pod",
                timeout_seconds=60,
                command=("sh", "-c", line),
            )
        )
        self.api.queue.transitions.hand_over(execution_id, attempt, pod.name, pod.uid)
        return pod

    def let_go(self, pod: PodStatus) -> None:
        (self._folder / "pods" / pod.name / "work" / "go").touch()

    def ended(self, pod: PodStatus) -> None:
        def look() -> bool:
            found = self.pods.get(pod.name)
            return found is not None and found.phase.ended

        wait_until(look, what="the pod's end")

    def gone(self, pod: PodStatus) -> None:
        self.pods.delete(pod.name)
        wait_until(lambda: self.pods.get(pod.name) is None, what="the pod's disappearance")

    def settle(self, execution_id: str = "x", attempt: int = 1, result: bytes = b'{"exit_code": 0}') -> None:
        self.api.queue.transitions.settle(
            Release(execution_id, attempt, State.COMPLETED, reason="Completed", result=result)
        )

    def started(self, line: str, execution_id: str = "x") -> PodStatus:
        self.send(execution_id)
        self.grant()
        return self.run(line, execution_id)


@pytest.fixture
def work(api: Api, tmp_path: Path) -> Iterator[Work]:
    work = Work(api, tmp_path)
    yield work
    for status in work.pods.list():
        work.pods.delete(status.name)
    wait_until(lambda: not work.pods.list(), what="the deletion of all pods")


@pytest.fixture
def ann(api: Api) -> str:
    return api.token("ann", "read")


def path_of(execution_id: str = "x") -> str:
    return f"/executions/{execution_id}/logs/follow"


def test_all_is_told_as_it_comes_from_before_it_began_to_its_end(api: Api, work: Work, ann: str) -> None:
    work.send()
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.names() == ["state"], what="the state")
        work.grant()
        pod = work.run(f"echo one; {HELD}; echo two")
        wait_until(lambda: stream.text() == "one\n", what="the first words")
        work.let_go(pod)
        wait_until(lambda: stream.text() == "one\ntwo\n", what="the last words")
        work.ended(pod)
        assert not stream.ended.wait(0.2), "its end is not known yet"
        work.settle()
        assert stream.ended.wait(30)
    states = [each["data"]["state"] for each in stream.events if each["event"] == "state"]
    assert (states[0], states[-1]) == ("PENDING", "COMPLETED")
    told = [each for each in stream.events if each["event"] != "state"]
    assert [each["event"] for each in told] == ["attempt", "output", "output", "end"]
    assert told[0]["data"] == {"attempt": 1}
    assert (told[1]["id"], told[1]["data"]) == ("1.4", {"attempt": 1, "position": 0, "text": "one\n"})
    assert (told[2]["id"], told[2]["data"]) == ("1.8", {"attempt": 1, "position": 4, "text": "two\n"})
    assert told[3]["data"] == {"state": "COMPLETED", "attempt": 1, "reason": "Completed", "exit_code": 0}


def test_a_retry_is_followed_as_the_next_attempt(api: Api, work: Work, ann: str) -> None:
    first = work.started("echo first")
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.text() == "first\n", what="the first attempt's words")
        work.ended(first)
        api.queue.transitions.settle(Retry("x", 1, "infrastructure", reason="NodeLost"))
        work.grant()
        second = work.run("echo second", attempt=2)
        work.ended(second)
        work.settle(attempt=2)
        assert stream.ended.wait(30)
    told = [each for each in stream.events if each["event"] in ("attempt", "output", "end")]
    assert [(each["event"], each["data"]["attempt"]) for each in told] == [
        *(("attempt", 1), ("output", 1)),
        *(("attempt", 2), ("output", 2), ("end", 2)),
    ]
    assert stream.text() == "first\nsecond\n"
    assert "reset" not in stream.names()
    with following(api, ann, "1.2", path=path_of()) as again:
        assert again.ended.wait(30)
    assert again.text() == "rst\nsecond\n", "an earlier attempt is told to its end, while its pod is there"


def test_a_follower_goes_on_where_it_stopped(api: Api, work: Work, ann: str) -> None:
    pod = work.started(f"echo one; {HELD}; echo two")
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.text() == "one\n", what="the first words")
    work.let_go(pod)
    work.ended(pod)
    work.settle()
    with following(api, ann, stream.events[-1]["id"], path=path_of()) as again:
        assert again.ended.wait(30)
    assert again.text() == "two\n"
    assert "reset" not in again.names()
    with following(api, ann, path=path_of(), tail_bytes=3) as tail:
        assert tail.ended.wait(30)
    assert tail.text() == "wo\n"


def test_what_is_gone_with_its_pod_is_told_from_what_was_kept(api: Api, work: Work, ann: str) -> None:
    work.gone(work.started("echo one"))
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: "attempt" in stream.names(), what="its beginning")
        work.settle(result='{"exit_code": 3, "output_tail": "ä kept"}'.encode())
        assert stream.ended.wait(30)
    told = [each["data"] for each in stream.events if each["event"] in ("output", "end")]
    assert told[0] == {"attempt": 1, "position": None, "text": "ä kept"}
    assert told[1]["exit_code"] == 3
    with following(api, ann, "1.2", path=path_of()) as again:
        assert again.ended.wait(30)
    assert again.names()[-3:] == ["reset", "output", "end"], "nobody knows where what was kept begins"
    with following(api, ann, "7.3", path=path_of()) as later:
        assert later.ended.wait(30)
    assert later.names() == ["reset", "state", "attempt", "output", "end"], "there was no such attempt"


def test_long_lines_and_what_is_no_text_are_told_whole(api: Api, work: Work, ann: str) -> None:
    program = r"printf '\303'; sleep 0.3; printf '\244\377\302\205\342\200\250'; head -c 100000 /dev/zero | tr '\0' 'ä'"
    pod = work.started(program)
    work.ended(pod)
    work.settle()
    with following(api, ann, path=path_of()) as stream:
        assert stream.ended.wait(30)
    raw = b"".join(work.pods.logs(pod.name))
    assert stream.text() == raw.decode(errors="backslashreplace")
    assert stream.text().startswith("ä\\xff\x85\u2028")
    outputs = [each for each in stream.events if each["event"] == "output"]
    assert max(len(each["data"]["text"].encode()) for each in outputs) <= 4 * MOST_BYTES
    assert [each["data"]["position"] for each in outputs][1:] == [int(each["id"][2:]) for each in outputs][:-1]


def test_a_character_that_comes_in_two_pieces_is_told_once_and_a_gap_ends_one() -> None:
    teller = Teller(2, 10)
    assert teller.tell(Piece("aä".encode()[:2], 10)) == (
        b'id: 2.11\nevent: output\ndata: {"attempt":2,"position":10,"text":"a"}\n\n'
    )
    assert teller.told_until == 11
    assert teller.tell(Piece("ä€".encode()[1:4], 12)) == (
        b'id: 2.13\nevent: output\ndata: {"attempt":2,"position":11,"text":"\\u00e4"}\n\n'
    )
    assert teller.tell(Piece(b"z", 50)) == (
        b'id: 2.15\nevent: output\ndata: {"attempt":2,"position":13,"text":"\\\\xe2\\\\x82"}\n\n'
        b'id: 2.51\nevent: output\ndata: {"attempt":2,"position":50,"text":"z"}\n\n'
    )
    assert teller.finish() == b""


def test_what_is_followed_and_by_whom(api: Api, work: Work, ann: str) -> None:
    work.send()
    for token, status in ((api.token("bob", "read"), 404), (api.token("op", "operate"), 403)):
        with api.client(token) as client:
            assert client.get(f"{V1}{path_of()}").status_code == status
    with following(api, api.token("root", "admin"), path="/admin" + path_of()) as stream:
        wait_until(lambda: stream.names() == ["state"], what="the state")
        api.queue.cancel("x", by="a test")
        assert stream.ended.wait(30)
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
        began = time.monotonic()
        api.table.revoke(token.split("_")[1], by="a test")
        assert one.ended.wait(30)
        wait_until(lambda: not followers.places.taken, what="nobody follows")
        wait_until(lambda: not vars(followers)["_reading"], what="no thread reads")
        assert time.monotonic() - began < 30


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
        assert self.answers.wait(60)
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
            assert pods.asked.acquire(timeout=30)
            answers: list[httpx.Response] = []
            asking = [
                threading.Thread(target=lambda: answers.append(client.get(f"{V1}/executions/x/logs")), daemon=True)
                for _ in range(40)
            ]
            for each in asking:
                each.start()
            for _ in range(8):
                assert pods.asked.acquire(timeout=30)
            began = time.monotonic()
            for _ in range(20):
                assert client.get(f"{V1}/executions/queue").status_code == 200
                assert client.get("/readyz").status_code == 200
            assert time.monotonic() - began < 20
            pods.answers.set()
            for each in asking:
                each.join(30)
            assert {(each.status_code, each.json()["code"]) for each in answers} == {(503, "pods_unavailable")}
            assert not stream.ended.is_set(), "it waits for the cluster"
            api.queue.transitions.settle(
                Release("x", 1, State.COMPLETED, reason="Completed", result=b'{"output_tail": "kept"}')
            )
            assert stream.ended.wait(30)
            assert stream.text() == "kept"


def test_what_hangs_with_the_cluster_does_not_keep_the_api_from_ending(api: Api, work: Work, tmp_path: Path) -> None:
    pods = HangingPods(tmp_path)
    work.started("sleep 60")
    services = replace(api.services, pods=lambda: pods, followers=Followers(), closing=threading.Event())
    with api_on(services) as url, following(replace(api, url=url), api.token("ann", "read"), path=path_of()) as stream:
        assert pods.asked.acquire(timeout=30)
        began = time.monotonic()
        services.closing.set()
        assert stream.ended.wait(30)
        assert time.monotonic() - began < 20
    pods.answers.set()
