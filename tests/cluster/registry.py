"""A container registry on this machine, which the node takes images from: slowly, if a test wants it, or never.

It has one image, of the smallest program there is: it writes "ran" and ends. The node has to be this machine.
"""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: An ELF file for x86-64 without anything: write(1, "ran\n", 4); exit(0).
_CODE = bytes.fromhex("b801000000bf01000000488d3510000000ba040000000f05b83c00000031ff0f05") + b"ran\n"
_START = 0x400078
_ELF_HEADER = bytes.fromhex("7f454c4602010100") + bytes(8) + bytes.fromhex("02003e0001000000")
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def program() -> bytes:
    """The program."""
    size = (0x78 + len(_CODE)).to_bytes(8, "little")
    entry = _START.to_bytes(8, "little") + (0x40).to_bytes(8, "little") + bytes(8)
    sizes = bytes(4) + bytes.fromhex("400038000100") + bytes(6)
    segment = bytes.fromhex("0100000005000000") + bytes(8) + (0x400000).to_bytes(8, "little") * 2 + size * 2
    return _ELF_HEADER + entry + sizes + segment + (0x1000).to_bytes(8, "little") + _CODE


def _layer() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo("program")
        member.size, member.mode = len(program()), 0o755
        tar.addfile(member, io.BytesIO(program()))
    return packed.getvalue()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Registry:
    """Serves `image` once `open` is set, and nothing else: any other name is unknown."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.asked = threading.Event()
        self._blobs, self._manifest = self._pack()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.answer(self)

            do_HEAD = do_GET

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self.image = f"{self.address}/slow:1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Whoever waits gets an answer."""
        self.open.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """One request."""
        _, _, path = handler.path.partition("/v2/")
        if path and path.startswith("slow/manifests/"):
            self.asked.set()
            self.open.wait(600)
            self._send(handler, 200, _MANIFEST, self._manifest)
        elif path.rpartition("/")[2] in self._blobs:
            self._send(handler, 200, "application/octet-stream", self._blobs[path.rpartition("/")[2]])
        elif path:
            error = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            self._send(handler, 404, "application/json", json.dumps(error).encode())
        else:
            self._send(handler, 200, "application/json", b"{}")

    @staticmethod
    def _send(handler: BaseHTTPRequestHandler, status: int, kind: str, body: bytes) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Docker-Content-Digest", _digest(body))
        handler.end_headers()
        if handler.command == "GET":
            handler.wfile.write(body)

    @staticmethod
    def _pack() -> tuple[dict[str, bytes], bytes]:
        layer = _layer()
        packed = gzip.compress(layer, mtime=0)
        config = json.dumps(
            {
                "architecture": "amd64",
                "os": "linux",
                "config": {"Cmd": ["/program"]},
                "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
            }
        ).encode()
        described = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {
                "mediaType": "application/vnd.docker.container.image.v1+json",
                "size": len(config),
                "digest": _digest(config),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    "size": len(packed),
                    "digest": _digest(packed),
                }
            ],
        }
        return {_digest(config): config, _digest(packed): packed}, json.dumps(described).encode()
