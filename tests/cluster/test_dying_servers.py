"""Tests here overlook one defect of the standard library when a server dies: exactly that one."""

import gc
import select
import socket
import ssl
import struct
import warnings

from components import RESET_BEFORE_HANDSHAKE


def left_open_by_a_reset() -> None:
    """Connect to a server that resets the connection before the handshake."""
    context = ssl.create_default_context()
    with socket.create_server(("127.0.0.1", 0)) as server:
        raw = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # its close is a reset
        accepted.close()
        assert select.select([raw], [], [], 10)[0]
        try:
            context.wrap_socket(raw, server_hostname="localhost")
        except OSError:
            return
    raise AssertionError("there was nobody to shake hands with")


def left_open_by_us() -> None:
    """A TLS socket with a peer that nobody closes."""
    context = ssl.create_default_context()
    with socket.create_server(("127.0.0.1", 0)) as server:
        raw = socket.create_connection(server.getsockname())
        context.wrap_socket(raw, server_hostname="localhost", do_handshake_on_connect=False)


def test_only_what_a_reset_left_open_is_overlooked() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()  # what earlier tests of this process left is not told here
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message=RESET_BEFORE_HANDSHAKE, category=ResourceWarning)
        left_open_by_a_reset()
        gc.collect()
        assert warned == []
        left_open_by_us()
        gc.collect()
    assert len(warned) == 1
    assert "raddr" in str(warned[0].message)
