"""Service addresses and their names, on a one-node cluster that has neither kube-proxy nor DNS.

In the flow: the release of the deployment tests runs as on any cluster: it finds the API server and the Redis server by
their Services. A cluster with a DNS service needs nothing from here; on a bare node this process takes the Services'
addresses, forwards their connections, and answers names. It ends with the test, and gives the addresses back.
"""

import asyncio
import contextlib
import fcntl
import subprocess
import tempfile
import threading
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from deploy_kubectl import Kubectl, skip_or_fail
from deploy_node import NodeAgents

DNS: Final = ("kube-system", "kube-dns")
DNS_PORT: Final = 53
CHUNK_BYTES: Final = 1 << 16
ANSWER_SECONDS: Final = 30.0

Address = tuple[str, int]


class Services:
    """What stands in for kube-proxy and DNS."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="services", daemon=True)
        self._names: dict[str, str] = {}
        self._targets: dict[Address, Address] = {}
        self._addresses: list[str] = []
        self._listening: list[asyncio.BaseTransport | asyncio.Server] = []
        self._agents: list[NodeAgents] = []

    def start(self) -> None:
        """Take the API server's address and the name server's."""
        self._thread.start()
        api = urlsplit(self._kubectl.run("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}"))
        assert api.hostname is not None
        assert api.port is not None
        spec = self._kubectl.get("service", "kubernetes", "-n", "default")["spec"]
        self._forward((spec["clusterIP"], spec["ports"][0]["port"]), (api.hostname, api.port))
        # By convention the tenth address of the Services' range, which the kubelet tells every pod.
        self._wait(self._answer_names(f"{spec['clusterIP'].rpartition('.')[0]}.10"))

    def stop(self) -> None:
        """Give everything back."""
        for agents in self._agents:
            agents.stop()
        self._wait(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for address in self._addresses:
            subprocess.run(["ip", "address", "del", f"{address}/32", "dev", "lo"], check=True)

    def admit(self, namespace: str) -> None:
        """Let the pods of a namespace use Services, and trust the API server."""
        self._agents.append(NodeAgents(self._kubectl, namespace))

    def serve(self, namespace: str, service: str, pod: str) -> None:
        """Let a Service's address and name lead to a pod, which is running."""
        spec = self._kubectl.get("service", service, "-n", namespace)["spec"]
        target = self._kubectl.get("pod", pod, "-n", namespace)["status"]["podIP"]
        for port in spec["ports"]:
            self._forward((spec["clusterIP"], port["port"]), (target, port["port"]))
        self._names[f"{service}.{namespace}.svc"] = spec["clusterIP"]

    def _forward(self, address: Address, target: Address) -> None:
        known = address in self._targets
        self._targets[address] = target
        if not known:
            self._wait(self._listen(address))

    def _take(self, address: str) -> None:
        subprocess.run(["ip", "address", "replace", f"{address}/32", "dev", "lo"], check=True)
        self._addresses.append(address)

    async def _listen(self, address: Address) -> None:
        self._take(address[0])
        self._listening.append(await asyncio.start_server(lambda r, w: self._carry(address, r, w), *address))

    async def _answer_names(self, address: str) -> None:
        self._take(address)
        transport, _ = await self._loop.create_datagram_endpoint(
            lambda: _Names(self._names), local_addr=(address, DNS_PORT)
        )
        self._listening.append(transport)

    async def _carry(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection(*self._targets[address])
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))
        finally:
            writer.close()
            there_writer.close()

    async def _close(self) -> None:
        for listening in self._listening:
            listening.close()
        carrying = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in carrying:
            task.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=ANSWER_SECONDS)


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(CHUNK_BYTES):
            sink.write(data)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()


class _Names(asyncio.DatagramProtocol):
    """A name server for a few names; of all others it says that there are none."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        assert self._transport is not None
        labels: list[str] = []
        end = 12
        while length := data[end]:
            labels.append(data[end + 1 : end + 1 + length].decode("ascii", "replace"))
            end += 1 + length
        question = data[12 : end + 5]
        address = self._names.get(".".join(labels).lower().removesuffix(".cluster.local"))
        answer = b""
        if address is not None and question[-4:-2] == b"\x00\x01":  # an A record; of the others there are none
            number = bytes(int(part) for part in address.split("."))
            answer = b"\xc0\x0c\x00\x01\x00\x01" + (5).to_bytes(4, "big") + (4).to_bytes(2, "big") + number
        flags = 0x8580 if address is not None else 0x8583
        counts = b"\x00\x01" + bytes([0, bool(answer)]) + bytes(4)
        self._transport.sendto(data[:2] + flags.to_bytes(2, "big") + counts + question + answer, addr)


@contextlib.contextmanager
def services(kubectl: Kubectl) -> Generator[Services | None]:
    """What the cluster lacks; None: nothing."""
    namespace, service = DNS
    if kubectl.attempt("get", "service", service, "-n", namespace).returncode == 0:
        yield None
        return
    node = kubectl.items("nodes")[0]
    here = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=True).stdout
    if not any(f"inet {each['address']}/" in here for each in node["status"]["addresses"]):
        skip_or_fail("the cluster has no DNS, and its node is not this machine")
    # This machine has each address once: another test process waits for its turn.
    with Path(tempfile.gettempdir(), "bandmaster-services.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = Services(kubectl)
        found.start()
        try:
            yield found
        finally:
            found.stop()
