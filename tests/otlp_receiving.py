"""Receivers of OTLP, as a collector has them: each hands the bodies of requests on."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc

Take = Callable[[bytes], None]


@contextmanager
def receiving_http(take: Take) -> Generator[str]:
    """Receive over HTTP; the address."""

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is http.server's
            take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@contextmanager
def receiving_grpc(take: Take) -> Generator[str]:
    """Receive metrics over gRPC; the address."""

    def export(body: bytes, _context: object) -> bytes:
        take(body)
        return b""  # an answer without fields

    grpc_library: Any = grpc
    server = grpc_library.server(ThreadPoolExecutor(max_workers=2))
    handler = grpc_library.unary_unary_rpc_method_handler(export)
    service = "opentelemetry.proto.collector.metrics.v1.MetricsService"
    server.add_generic_rpc_handlers((grpc_library.method_handlers_generic_handler(service, {"Export": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(grace=None).wait()
