"""An API that may not read what pods print: it says so at once, asks no more, and shows what was kept at the end."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest
from calling import V1, Api, api_on
from following import following

from bandmaster.admin.output.followers import Followers
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.pods import ClusterPods
from bandmaster.k8s.errors import PodsForbidden
from bandmaster.k8s.output import Closing
from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_SECONDS, wait_until

POD: Final = (Path(__file__).parents[1] / "k8s" / "recorded" / "running.json").read_bytes()
MOST_ASKED: Final = 16
"""Two `/logs`, and of a follower each attempt and the end: five readings, of three requests at most."""


class Refusing(BaseHTTPRequestHandler):
    """An API server that lets nobody read a pod's log, and perhaps no pod."""

    shows_pods = False
    asked = 0

    def do_GET(self) -> None:
        """Answer."""
        type(self).asked += 1
        if self.shows_pods and "/log" not in self.path:
            self._answer(200, POD)
            return
        what = "pods/log" if "/log" in self.path else "pods"
        message = f'pods "x" is forbidden: User "u" cannot get resource "{what}" in API group "" in the namespace "ns"'
        self._answer(403, json.dumps({"kind": "Status", "message": message, "code": 403}).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def refusing(folder: Path, *, shows_pods: bool) -> Generator[Path]:
    """Serve it; its kubeconfig."""
    Refusing.shows_pods = shows_pods
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(
            "apiVersion: v1\nkind: Config\ncurrent-context: it\n"
            "contexts: [{name: it, context: {cluster: it, user: it}}]\n"
            f"clusters: [{{name: it, cluster: {{server: 'http://127.0.0.1:{server.server_port}'}}}}]\n"
            "users: [{name: it, user: {}}]\n"
        )
        try:
            yield kubeconfig
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(params=["may read no pod", "may read no log", "has no access"])
def pods(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterPods]:
    Refusing.asked = 0
    if request.param == "has no access":
        yield ClusterPods(KubernetesSettings(kubeconfig=str(tmp_path / "none"), namespace="ns"))
        return
    with refusing(tmp_path, shows_pods=request.param == "may read no log") as kubeconfig:
        yield ClusterPods(KubernetesSettings(kubeconfig=str(kubeconfig), namespace="ns"))


def test_a_reading_that_is_not_allowed_says_so_at_once(pods: ClusterPods) -> None:
    with pytest.raises(PodsForbidden):
        list(pods.logs("exec-x-1"))
    with pytest.raises(PodsForbidden):
        list(pods.follow("exec-x-1", Closing()))
    assert Refusing.asked <= 5


def test_the_routes_say_that_it_is_withheld_and_show_what_was_kept(api: Api, pods: ClusterPods) -> None:
    services = replace(api.services, pods=lambda: pods, followers=Followers(), closing=Event())
    token = api.token("ann", "read")
    path = "/executions/x/logs"
    api.queue.enqueue({"execution_id": "x", "command": ["true"], "metadata": {"user_id": "ann"}})
    _grant(api, 1)
    with api_on(services) as url, replace(api, url=url).client(token) as client:
        shown = client.get(f"{V1}{path}")
        assert (shown.status_code, shown.json()["source"], shown.json()["withheld"]) == (200, "none", True)
        with following(replace(api, url=url), token, path=f"{path}/follow") as stream:
            wait_until(lambda: "withheld" in stream.names(), what="that it is withheld")
            api.queue.transitions.settle(Retry("x", 1, "infrastructure", reason="NodeLost"))
            _grant(api, 2)
            wait_until(lambda: stream.names().count("withheld") == 2, what="that the next attempt is, too")
            api.queue.transitions.settle(
                Release("x", 2, State.COMPLETED, reason="Completed", result=b'{"exit_code": 0, "output_tail": "kept"}')
            )
            assert stream.ended.wait(GENEROUS_SECONDS)
        told = [each for each in stream.events if each["event"] != "state"]
        assert [each["event"] for each in told] == ["attempt", "withheld", "attempt", "withheld", "output", "end"]
        assert [each["data"] for each in told[3:5]] == [
            {"attempt": 2},
            {"attempt": 2, "position": None, "text": "kept"},
        ]
        kept = client.get(f"{V1}{path}").json()
        assert (kept["source"], kept["output"], kept["withheld"]) == ("result", "kept", True)
        assert Refusing.asked <= MOST_ASKED, "nothing is gained by asking again"


def _grant(api: Api, attempt: int) -> None:
    api.queue.maintenance.promote()
    assert api.queue.try_schedule() is not None
    api.queue.transitions.hand_over("x", attempt, f"exec-x-{attempt}", f"uid-{attempt}")
