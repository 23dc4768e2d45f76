"""A TCP proxy before the test's server that breaks connections where a test says: in this process, on real sockets.

It reads the clients' commands one by one, so a test can name the command whose reply is lost: the command reaches the
server and takes effect, and its reply is thrown away; or it does not reach it. It can also refuse connections, swallow
everything without a word (a black hole: no reset, no reply), and be slow.
"""

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import BinaryIO, Final
from urllib.parse import unquote, urlsplit

Command = list[bytes]


def calls(command: Command, script: str) -> bool:
    """Whether a command calls the function of a script; others of one word come, too."""
    return any(word.startswith(script.encode()) for word in command[1:2])


_CHUNK_BYTES: Final = 65_536


class Loss(Enum):
    """How a reply is lost."""

    CLOSED = "closed"
    """The connection breaks: the client knows at once that something is wrong."""
    SILENT = "silent"
    """Nothing comes any more on that connection: the client has to time out."""


class Proxy:
    """Between clients and one server."""

    def __init__(self, server_url: str) -> None:
        self._server_url = urlsplit(server_url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/{self._server_url.path.strip('/') if self._is_tcp else 0}"
        self.lost = 0
        """Replies and commands lost so far."""
        self.refused = 0
        """Connections refused so far."""
        self.delay_seconds = 0.0
        """Before each command is passed on."""
        self.trickle_seconds = 0.0
        """Before each byte of a reply."""
        self.swallows = False
        self.refuses = False
        self._doomed: Callable[[Command], bool] | None = None
        self._unheard: Callable[[Command], bool] | None = None
        self._loss = Loss.CLOSED
        self._connections: set[socket.socket] = set()
        self._forgotten: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def _is_tcp(self) -> bool:
        return self._server_url.scheme == "redis"

    def lose_reply(self, doomed: Callable[[Command], bool], loss: Loss = Loss.CLOSED) -> None:
        """Lose the replies of the commands that `doomed` says yes to; it is asked once a command, in order."""
        self._doomed, self._loss = doomed, loss

    def lose_command(self, unheard: Callable[[Command], bool]) -> None:
        """Break the connection before the server has heard a command that `unheard` says yes to: it takes no effect."""
        self._unheard = unheard

    def lose_next_reply(self, name: bytes, loss: Loss = Loss.CLOSED) -> None:
        """Lose the next reply to a command that has `name` among its first two words."""
        left = iter([True])
        self.lose_reply(lambda command: name in command[:2] and next(left, False), loss)

    def break_connections(self) -> None:
        """All that are open now."""
        with self._lock:
            connections, self._connections = self._connections, set()
        for connection in connections:
            _close(connection)

    def forget_connections(self) -> None:
        """All that are open now: what is sent on them vanishes, and nobody is told."""
        with self._lock:
            self._forgotten |= self._connections

    def close(self) -> None:
        """For good."""
        _close(self._listener)
        self.break_connections()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    self.refused += 1
                    _close(client)
                    continue
                try:
                    server = self._connect()
                except OSError:  # it is down: the client meets what it would meet without a proxy
                    _close(client)
                    continue
                with self._lock:
                    self._connections |= {client, server}
                losing = threading.Event()
                threading.Thread(target=self._requests, args=(client, server, losing), daemon=True).start()
                threading.Thread(target=self._replies, args=(client, server, losing), daemon=True).start()

    def _connect(self) -> socket.socket:
        if self._is_tcp:
            return socket.create_connection((self._server_url.hostname, self._server_url.port or 6379))
        server = socket.socket(socket.AF_UNIX)
        server.connect(unquote(self._server_url.path))
        return server

    def _requests(self, client: socket.socket, server: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError, ValueError), client.makefile("rb") as stream:
            for command, raw in _commands(stream):
                if self.swallows or client in self._forgotten:
                    continue
                if self.delay_seconds:
                    time.sleep(self.delay_seconds)
                if self._unheard is not None and self._unheard(command):
                    self.lost += 1
                    break
                if self._doomed is not None and self._doomed(command):
                    losing.set()
                server.sendall(raw)
        _close(client)
        _close(server)

    def _replies(self, client: socket.socket, server: socket.socket, losing: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK_BYTES):
                if losing.is_set():
                    # The reply is there, so the command has taken effect.
                    self.lost += 1
                    if self._loss is Loss.CLOSED:
                        break
                    while server.recv(_CHUNK_BYTES):
                        pass
                if self.swallows:
                    continue
                for piece in _pieces(data, 1 if self.trickle_seconds else len(data)):
                    time.sleep(self.trickle_seconds)
                    client.sendall(piece)
        _close(client)
        _close(server)


def _commands(stream: BinaryIO) -> Iterator[tuple[Command, bytes]]:
    """What a client sends, as words and as bytes."""
    while first := stream.readline():
        raw, words = [first], []
        for _ in range(int(first[1:])):
            header = stream.readline()
            body = stream.read(int(header[1:]) + 2)
            raw += [header, body]
            words.append(body[:-2])
        yield words, b"".join(raw)


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def proxy_before(server_url: str) -> Generator[Proxy]:
    """A proxy before a server, gone at the end."""
    proxy = Proxy(server_url)
    try:
        yield proxy
    finally:
        proxy.close()
