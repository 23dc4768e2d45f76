"""A TCP forwarder and a name server: what `deploy_services.py` puts on the Services' addresses.

Both are servers with threads. When they end they close what is open and wait for their threads, so that nothing of them
outlives the test.
"""

import contextlib
import socket
import socketserver
import threading
from collections.abc import Generator
from typing import Final, cast

Address = tuple[str, int]

CHUNK_BYTES: Final = 1 << 16
CONNECT_SECONDS: Final = 10.0


class Forwarder(socketserver.ThreadingTCPServer):
    """Carries each connection to the target of the moment."""

    allow_reuse_address = True

    def __init__(self, address: Address, target: Address) -> None:
        super().__init__(address, _Carrier)
        self.target = target
        self._lock = threading.Lock()
        self._carried: set[socket.socket] = set()
        self._is_closing = False

    @contextlib.contextmanager
    def carrying(self, *ends: socket.socket) -> Generator[bool]:
        """Keep a connection's two sockets, to cut them when the server closes; whether it does not do so already."""
        with self._lock:
            self._carried.update(ends)
            is_open = not self._is_closing
        try:
            yield is_open
        finally:
            with self._lock:
                self._carried.difference_update(ends)

    def server_close(self) -> None:
        with self._lock:
            self._is_closing = True
            for end in self._carried:
                cut(end)
        super().server_close()  # waits for the threads


class _Carrier(socketserver.BaseRequestHandler):
    """One connection."""

    def handle(self) -> None:
        server, here = cast(Forwarder, self.server), cast(socket.socket, self.request)
        with contextlib.suppress(OSError):
            there = socket.create_connection(server.target, timeout=CONNECT_SECONDS)
            there.settimeout(None)
            with there, server.carrying(here, there) as is_open:
                if is_open:
                    back = threading.Thread(target=pump, args=(there, here))
                    back.start()
                    pump(here, there)
                    back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes until the source has no more, then say so to the sink; an error ends both ways."""
    try:
        while data := source.recv(CHUNK_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        cut(source)
        cut(sink)


def cut(end: socket.socket) -> None:
    """End both ways, so that whoever reads or writes there goes on."""
    with contextlib.suppress(OSError):  # it has ended already
        end.shutdown(socket.SHUT_RDWR)


class NameServer(socketserver.UDPServer):
    """Answers for a few names, with an A record each; of all others it says that there are none."""

    def __init__(self, address: Address, names: dict[str, str]) -> None:
        super().__init__(address, _Answer)
        self.names = names


class _Answer(socketserver.DatagramRequestHandler):
    """One question."""

    def handle(self) -> None:
        data = self.packet
        labels: list[str] = []
        end = 12
        while length := data[end]:
            labels.append(data[end + 1 : end + 1 + length].decode("ascii", "replace"))
            end += 1 + length
        question = data[12 : end + 5]
        names = cast(NameServer, self.server).names
        address = names.get(".".join(labels).lower().removesuffix(".cluster.local"))
        answer = b""
        if address is not None and question[-4:-2] == b"\x00\x01":  # an A record; of the others there are none
            number = bytes(int(part) for part in address.split("."))
            answer = b"\xc0\x0c\x00\x01\x00\x01" + (5).to_bytes(4, "big") + (4).to_bytes(2, "big") + number
        flags = 0x8580 if address is not None else 0x8583
        counts = b"\x00\x01" + bytes([0, bool(answer)]) + bytes(4)
        self.wfile.write(data[:2] + flags.to_bytes(2, "big") + counts + question + answer)


@contextlib.contextmanager
def serving(server: socketserver.BaseServer) -> Generator[None]:
    """Serve until the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
