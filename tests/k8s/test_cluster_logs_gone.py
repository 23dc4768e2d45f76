"""A kubelet deletes a log while it is read: what was read of it stays, and the kubelet's own sentence is no output."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from recorded_pods import recorded

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.client import ClusterApi
from bandmaster.k8s.cluster.tails import Tail, read_tail

PATH = "/var/log/pods/ns_exec-1_2a17c6af/program/0.log"
GONE = (
    "unable to retrieve container logs for containerd://6f10055acce4232df2cf8c6e025702fd2a8c4896",
    f'failed to try resolving symlinks in path "{PATH}": lstat {PATH}: no such file or directory',
    f'failed to open log file "{PATH}": open {PATH}: no such file or directory',
)


class Answers(BaseHTTPRequestHandler):
    """An API server that answers each request for a log with the next of some texts, the last one for ever."""

    texts: list[str]

    def do_GET(self) -> None:
        """Answer."""
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ClusterApi]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        kubeconfig = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{server.server_port}"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
            "contexts: [{name: it, context: {cluster: it, user: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: '{address}'}}}}]\nusers: [{{name: it, user: {{}}}}]\n"
        )
        try:
            yield ClusterApi(KubernetesSettings(kubeconfig=str(kubeconfig), namespace="ns"))
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("gone", GONE)
def test_what_was_heard_before_the_log_was_deleted_stays(api: ClusterApi, gone: str) -> None:
    Answers.texts = ["asked\n", gone]
    assert read_tail(api, recorded("completed"), follow=True) == Tail("asked\n")


@pytest.mark.parametrize("gone", GONE)
def test_a_log_that_is_gone_is_no_output(api: ClusterApi, gone: str) -> None:
    Answers.texts = [gone]
    assert read_tail(api, recorded("completed")) == Tail("")


def test_a_program_may_say_something_like_it(api: ClusterApi) -> None:
    for text in ("failed to open log file: disk full\n", f"begun\n{GONE[1]}\n"):
        Answers.texts = [text]
        assert read_tail(api, recorded("completed")) == Tail(text)
