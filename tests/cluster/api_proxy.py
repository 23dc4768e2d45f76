"""A TCP proxy before the real API server, which speaks plain HTTP to us, so that it can misbehave in known ways.

It forwards every request with the administrator's credentials. A fault is switched on for requests that match, for so
many times: an answer of its own, a lost reply (forwarded, then the connection is cut), a half-open connection (nothing
comes any more, nothing is closed), a request that is held back, or a refusal to connect at all.
"""

import contextlib
import http.client
import json
import re
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cluster_admin import Admin

from waiting import wait_until

HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


@dataclass
class Fault:
    """What happens to requests whose line matches.

    Args:
        pattern: Searched for in "METHOD path?query".
        status: Answer with this status instead of forwarding.
        headers: Of that answer.
        body: Of that answer.
        mute: Don't forward, don't answer, don't close.
        lose_reply: Forward, then cut the connection instead of answering.
        keep_reply: Forward, then neither answer nor close.
        until: Forward, or answer, only when this is set.
        change: Forward what this makes of the body, as a mutating webhook does.
        fall_silent: Forward, pass on what comes until `silence` is set, then nothing, without closing.
        end_early: Forward, pass on the first of what comes, and end the answer as if that were all.
        times: For how many requests.
    """

    pattern: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    mute: bool = False
    lose_reply: bool = False
    keep_reply: bool = False
    until: threading.Event | None = None
    end_early: bool = False
    change: Callable[[bytes], bytes] | None = None
    fall_silent: bool = False
    times: int = 1_000_000
    hits: int = 0
    done: threading.Event = field(default_factory=threading.Event)


class ApiProxy:
    """The proxy; ``kubeconfig`` leads through it."""

    def __init__(self, admin: Admin, folder: Path) -> None:
        self.requests: list[str] = []
        self.silence = threading.Event()
        self._stopped = threading.Event()
        self._configuration: Any = admin.configuration
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._open: set[Any] = set()
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.start()
        self.kubeconfig = folder / "through-the-proxy"
        self._write_kubeconfig()

    def start(self) -> None:
        """Accept connections (again)."""
        self._stopped.clear()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                proxy.opened(self.connection)

            def handle_one_request(self) -> None:
                with contextlib.suppress(OSError, ValueError):
                    super().handle_one_request()
                    return
                self.close_connection = True

            def do_any(self) -> None:
                proxy.serve(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_any

            def log_message(self, format: str, *args: Any) -> None:
                pass

        ThreadingHTTPServer.allow_reuse_address = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Cut all connections and refuse new ones."""
        self._stopped.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        self.cut()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            connections, self._open = self._open, set()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(2)

    def fail(self, fault: Fault) -> Fault:
        """Switch a fault on."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def wait_for_looks(self, count: int = 2) -> None:
        """Wait until pods were watched anew so many times, so that whoever watches has seen them as they are now."""
        before = self._looks()
        wait_until(lambda: self._looks() >= before + count, timeout_seconds=120, what="another look at the pods")

    def _looks(self) -> int:
        return sum(1 for line in self.requests.copy() if "/pods?" in line and "watch=" in line)

    def heal(self) -> None:
        """Switch all faults off; what fell silent stays so."""
        with self._lock:
            self._faults.clear()

    def opened(self, connection: Any) -> None:
        """Remember a connection."""
        with self._lock:
            self._open.add(connection)

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        line = f"{handler.command} {handler.path}"
        self.requests.append(line)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        fault = self._fault_of(line)
        if fault is not None and fault.mute:
            self._stopped.wait()
            return
        if fault is not None and fault.until is not None:
            fault.until.wait(60)
        if fault is not None and fault.status:
            self._answer(handler, fault.status, fault.headers, fault.body)
            return
        if fault is not None and fault.change is not None:
            body = fault.change(body)
        upstream = self._connect()
        try:
            headers = {name: value for name, value in handler.headers.items() if name.lower() not in HOP_BY_HOP}
            headers |= {"Host": str(upstream.host)} | self._authorization()
            upstream.request(handler.command, handler.path, body or None, headers)
            answer = upstream.getresponse()
            if fault is not None and fault.lose_reply:
                answer.read()
                handler.close_connection = True
                handler.connection.shutdown(2)
                return
            if fault is not None and fault.keep_reply:
                answer.read()
                fault.done.set()
                self._stopped.wait(60)
                return
            if answer.chunked:
                self._stream(
                    handler,
                    answer,
                    silent=fault is not None and fault.fall_silent,
                    once=fault is not None and fault.end_early,
                )
            else:
                kept = {name: value for name, value in answer.getheaders() if name.lower() not in HOP_BY_HOP}
                self._answer(handler, answer.status, kept, answer.read())
        finally:
            upstream.close()

    def _fault_of(self, line: str) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if fault.hits < fault.times and re.search(fault.pattern, line):
                    fault.hits += 1
                    return fault
        return None

    def _stream(
        self, handler: BaseHTTPRequestHandler, answer: http.client.HTTPResponse, *, silent: bool, once: bool
    ) -> None:
        handler.send_response(answer.status)
        handler.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        while chunk := answer.read1(1 << 16):
            if silent and self.silence.is_set():
                continue
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            handler.wfile.flush()
            if once:
                break
        if silent and self.silence.is_set():
            self._stopped.wait(60)  # half-open: the other side is long gone, and nobody says so
            return
        handler.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def _answer(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _connect(self) -> http.client.HTTPConnection:
        address = urlsplit(str(self._configuration.host))
        if address.scheme == "http":
            return http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        context = ssl.create_default_context(cafile=self._configuration.ssl_ca_cert)
        if not self._configuration.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self._configuration.cert_file:
            context.load_cert_chain(self._configuration.cert_file, self._configuration.key_file)
        return http.client.HTTPSConnection(address.hostname or "", address.port, timeout=30, context=context)

    def _authorization(self) -> dict[str, str]:
        token = self._configuration.get_api_key_with_prefix("authorization") or self._configuration.api_key.get(
            "BearerToken"
        )
        return {"Authorization": str(token)} if token else {}

    def _write_kubeconfig(self) -> None:
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "proxy", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
                    "users": [{"name": "proxy", "user": {}}],
                    "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
                    "current-context": "proxy",
                }
            )
        )
