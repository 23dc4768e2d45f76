"""A TCP proxy before an API that cuts connections when a test says so, and counts them."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Cutting:
    """Between clients and one server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname, parts.port)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.requests: list[bytes] = []
        """What clients sent, a piece each."""
        self.answers: list[bytes] = []
        """What was passed on to them."""
        self.to_swallow = 0
        """How many answers are thrown away, and their connections cut."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Cut all connections that are open now."""
        with self._lock:
            cut, self._open = self._open, []
        for each in cut:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """For good."""
        # Only this wakes the thread that accepts.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(self._server)
                with self._lock:
                    self._open += [client, server]
                for source, target, is_answer in ((client, server, False), (server, client, True)):
                    threading.Thread(
                        target=self._pass, args=(source, target), kwargs={"is_answer": is_answer}, daemon=True
                    ).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                if is_answer and self.to_swallow:
                    self.to_swallow -= 1
                    break
                target.sendall(data)
                (self.answers if is_answer else self.requests).append(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        source.close()


@contextmanager
def cutting_before(url: str) -> Generator[Cutting]:
    """A proxy before a server, gone at the end."""
    proxy = Cutting(url)
    try:
        yield proxy
    finally:
        proxy.close()
