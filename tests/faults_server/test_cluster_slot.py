"""One slot of a Cluster: a hash tag keeps a queue on one node, which a plain client of that node uses."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dramatiq
import pytest
import redis
from defects.contrast import event
from dramatiq import Worker

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.model.errors import QueueUnavailable
from waiting import wait_until

from .own_server import OwnServer

pytestmark = pytest.mark.slow

SLOTS = 16_384
PREFIX, NAMESPACE = "{bandmaster}:exec_queue", "{bandmaster}:dramatiq"


class Cluster:
    """Two nodes, each with half of the slots."""

    def __init__(self, folder: Path) -> None:
        self.ports = [_free_port(), _free_port()]
        self._nodes: list[OwnServer] = []
        for port in self.ports:
            (folder / str(port)).mkdir()
            options = ("--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes")
            node = OwnServer(folder / str(port), *options, "--cluster-port", str(_free_port()))
            node.start()
            self._nodes.append(node)
        for port, (first, last) in zip(self.ports, ((0, SLOTS // 2 - 1), (SLOTS // 2, SLOTS - 1)), strict=True):
            self._ask(port, "CLUSTER ADDSLOTSRANGE", first, last)
        bus = self._bus(self.ports[1])
        self._ask(self.ports[0], "CLUSTER MEET", "127.0.0.1", self.ports[1], bus)
        wait_until(lambda: all(self._is_whole(port) for port in self.ports), what="the cluster", timeout_seconds=60)
        slot = int(str(self._ask(self.ports[0], "CLUSTER KEYSLOT", PREFIX)))
        self.owner = self.ports[slot // (SLOTS // 2)]
        self.other = next(port for port in self.ports if port != self.owner)

    def end(self) -> None:
        """Both."""
        for node in self._nodes:
            node.end()

    def _is_whole(self, port: int) -> bool:
        return b"cluster_state:ok" in self._raw(port, "CLUSTER INFO")

    def _bus(self, port: int) -> int:
        # host:port@bus, of the line of the node itself
        mine = next(line for line in self._raw(port, "CLUSTER NODES").splitlines() if b"myself" in line)
        return int(mine.split()[1].split(b"@")[1].split(b",")[0])

    def _raw(self, port: int, command: str) -> bytes:
        with redis.Redis(port=port, protocol=2) as client:
            client.response_callbacks.clear()
            raw: Any = client
            answer: bytes = raw.execute_command(command)
            return answer

    def _ask(self, port: int, command: str, *arguments: object) -> object:
        with redis.Redis(port=port, protocol=2) as client:
            raw: Any = client
            return raw.execute_command(command, *arguments)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.end()


def test_a_queue_with_a_hash_tag_works_on_the_node_of_its_slot(cluster: Cluster) -> None:
    broker = BandedRedisBroker(host="127.0.0.1", port=cluster.owner, prefix=PREFIX, namespace=NAMESPACE)
    ran: list[str] = []

    @dramatiq.actor(broker=broker, band="HIGH", gates=["tenant:a"], limits={"tenant:a": 1})
    def gated(name: str) -> None:
        ran.append(name)

    @dramatiq.actor(broker=broker, queue_name="plain")
    def plain(name: str) -> None:
        ran.append(name)

    worker = Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    try:
        for n in range(20):
            gated.send(f"gated {n}")
        gated.send_with_options(args=("later",), delay=50)
        plain.send("plain")
        wait_until(lambda: len(ran) == 22, what="all run")
        broker.queue.enqueue(event("x"))
        assert broker.queue.cancel("x").state == "CANCELLED"
        assert {*ran} == {"later", "plain", *(f"gated {n}" for n in range(20))}
    finally:
        worker.stop()
        broker.close()


def test_the_wrong_node_and_a_prefix_without_a_tag_are_refused_in_words(cluster: Cluster) -> None:
    with redis.Redis(port=cluster.other, protocol=2) as client:
        with pytest.raises(QueueUnavailable, match=f"name the one that has it, 127.0.0.1:{cluster.owner}"):
            ExecutionQueueService(client, prefix=PREFIX).enqueue(event("x"))
        assert client.dbsize() == 0
    with redis.Redis(port=cluster.owner, protocol=2) as client, pytest.raises(QueueUnavailable, match="slot"):
        ExecutionQueueService(client, prefix="exec_queue").enqueue(event("x"))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
