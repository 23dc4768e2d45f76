"""Following an output piece by piece: where it goes on, what is missing, and how it is ended from elsewhere."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from living_pods import ended, living_pods, running, spec

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster import logs
from bandmaster.k8s.cluster.pods import ClusterPods
from bandmaster.k8s.errors import PodNotFound
from bandmaster.k8s.local.limits import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.k8s.output import Closing, Piece
from waiting import GENEROUS_SECONDS, wait_until

RECORDED = Path(__file__).with_name("recorded")


@pytest.fixture
def pods(tmp_path: Path) -> Iterator[LocalPods]:
    with living_pods(tmp_path) as pods:
        yield pods


class Reading(threading.Thread):
    """Reads in a thread of its own."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        super().__init__(daemon=True)
        self.pieces: list[Piece] = []
        self._from = pieces
        self.start()

    def run(self) -> None:
        self.pieces.extend(self._from)


def test_a_reading_goes_on_where_an_earlier_one_ended(pods: LocalPods) -> None:
    created = pods.create(spec("echo one; echo two"))
    ended(pods, created.name)
    assert list(pods.follow(created.name, Closing())) == [Piece(b"one\ntwo\n", 0)]
    assert list(pods.follow(created.name, Closing(), after=4)) == [Piece(b"two\n", 4)]
    assert list(pods.follow(created.name, Closing(), tail_bytes=2)) == [Piece(b"o\n", 6)]
    assert list(pods.follow(created.name, Closing(), after=8)) == []
    assert list(pods.follow(created.name, Closing(), after=10**17)) == []
    with pytest.raises(PodNotFound):
        pods.follow("exec-nothing-1", Closing())


def test_a_piece_is_bounded_and_says_what_was_dropped_before_it(pods: LocalPods, tmp_path: Path) -> None:
    created = LocalPods(tmp_path, LocalLimits(output_limit_bytes=1 << 20)).create(spec("yes | head -c 3000000"))
    ended(pods, created.name)
    pieces = list(pods.follow(created.name, Closing()))
    assert max(len(each.data) for each in pieces) <= 1 << 16
    assert sum(each.position > before.end for before, each in pairwise(pieces)) == 1
    assert pieces[-1].end == 3_000_000


def test_closing_ends_a_reading_that_waits_for_a_silent_program(pods: LocalPods) -> None:
    created = pods.create(spec("echo one; sleep 600"))
    running(pods, created.name, printed=b"one\n")
    closing = Closing()
    reading = Reading(pods.follow(created.name, closing))
    wait_until(lambda: reading.pieces, what="its words")
    closing.close()
    reading.join(GENEROUS_SECONDS)
    assert not reading.is_alive()
    assert list(pods.follow(created.name, closing)) == [], "what is closed reads nothing"


class SilentCluster(BaseHTTPRequestHandler):
    """An API server that knows one pod, whose program has said a word and goes on running."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self) -> None:
        """Answer, and of a log that is followed never the end."""
        if "/log" not in self.path:
            pod = (RECORDED / "running.json").read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(pod)))
            self.end_headers()
            self.wfile.write(pod)
            return
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"6\r\nbegun\n\r\n")
        # Until the reader goes away.
        self.connection.recv(1)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[ClusterPods]:
    with ThreadingHTTPServer(("127.0.0.1", 0), SilentCluster) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        kubeconfig = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{server.server_port}"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
            "contexts: [{name: it, context: {cluster: it, user: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: '{address}'}}}}]\nusers: [{{name: it, user: {{}}}}]\n"
        )
        try:
            yield ClusterPods(KubernetesSettings(kubeconfig=str(kubeconfig), namespace="ns"))
        finally:
            server.shutdown()
            thread.join()


def test_closing_ends_a_reading_that_waits_for_a_silent_cluster(
    silent: ClusterPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_IDLE_SECONDS", 600.0)  # longer than it is waited for here
    closing = Closing()
    reading = Reading(silent.follow("exec-x-1", closing, after=2))
    wait_until(lambda: reading.pieces, what="its words")
    assert reading.pieces == [Piece(b"gun\n", 2)]
    closing.close()
    reading.join(GENEROUS_SECONDS)
    assert not reading.is_alive()


def test_a_follower_gets_the_last_words_of_a_pod_that_is_deleted(pods: LocalPods) -> None:
    created = pods.create(spec("trap 'echo bye; exit' TERM; echo up; while :; do :; done"))
    running(pods, created.name, printed=b"up\n")
    reading = Reading(pods.follow(created.name, Closing()))
    wait_until(lambda: reading.pieces, what="its words")
    pods.delete(created.name)
    reading.join(GENEROUS_SECONDS)
    assert b"".join(each.data for each in reading.pieces) == b"up\nbye\n"
