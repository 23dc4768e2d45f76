"""A receiver of notifications: a real HTTP server in threads of its own, which answers as a test says."""

import base64
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import SecretStr

from bandmaster.configs.notify import NotifySettings
from waiting import GENEROUS_SECONDS

SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
NOTIFY = NotifySettings(secret=SecretStr(SECRET))
ALLOWED: NotifySettings = NOTIFY.model_copy(update={"private_networks": ("127.0.0.0/8", "::1/128")})
HANGS = 0
"""In place of a status: no answer until the receiver ends."""


@dataclass
class Got:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """What it got, and what it answers: the statuses in their order, then the last one for ever."""

    port: int = 0
    statuses: list[int] = field(default_factory=lambda: [204])
    location: str | None = None
    got: list[Got] = field(default_factory=list[Got])
    ends: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?of=test"

    @property
    def ids(self) -> list[str]:
        return [each.headers["webhook-id"] for each in self.got]


@contextmanager
def receiving(*statuses: int, tls: ssl.SSLContext | None = None) -> Generator[Receiver]:
    """Run one."""
    receiver = Receiver()
    receiver.statuses = list(statuses) or [204]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Got(self.path, headers, body))
            status = receiver.statuses.pop(0) if len(receiver.statuses) > 1 else receiver.statuses[0]
            if status == HANGS:
                receiver.ends.wait(60)
                return
            self.send_response(status)
            if receiver.location is not None:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ends.set()
        server.shutdown()
        server.server_close()
        thread.join(GENEROUS_SECONDS)
