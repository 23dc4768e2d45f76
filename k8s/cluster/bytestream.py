"""Reads a long answer of the API server: a watch, or a log that is followed.

In the flow: `client.py` opens the stream and one thread reads it. Any thread may close it, which wakes the reader at
once, since a watch that has to stop must not wait for a silent server. If the connection breaks, or nothing arrives
within the timeout, the reader gets an ``ApiError``; if the server ends its answer properly, the iteration just ends.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Final

import urllib3.exceptions

from .faults import ApiError, Fault

_CHUNK_BYTES: Final = 1 << 16
_RUNTIME_ERROR: Final = re.compile(
    rb'rpc error: code = NotFound desc = an error occurred when try to find container "[0-9a-f]+": not found\n?\Z'
)
_LOG_GONE: Final = re.compile(
    rb"(?:unable to retrieve container logs for [a-z]+://"
    rb'|failed to try resolving symlinks in path "/'
    rb'|failed to open log file "/)[^\n]*\n?'
)


class ByteStream:
    """The bytes of an answer, as they arrive.

    Args:
        response: The response of urllib3, not read yet.
    """

    def __init__(self, response: Any) -> None:
        self._response = response
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._response.stream(_CHUNK_BYTES, decode_content=True):
                if self._closed:
                    return  # a TLS socket that was shut down during a read may return undecrypted bytes
                yield chunk
        except (urllib3.exceptions.HTTPError, OSError, AttributeError, ValueError) as error:
            # urllib3 raises the latter two when another thread closes the response during a read.
            if not self._closed:
                raise lost(error) from error
        finally:
            self.close()

    def lines(self) -> Iterator[bytes]:
        """The same bytes as lines, without line ends and without an incomplete last line."""
        begun: list[bytes] = []
        for chunk in self:
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                yield b"".join((*begun, line))
                begun.clear()
            if rest:
                begun.append(rest)

    def close(self) -> None:
        """Stop reading, and wake the reading thread."""
        self._closed = True
        with contextlib.suppress(ValueError, RuntimeError, OSError):  # the answer was already read to its end
            self._response.shutdown()
        with contextlib.suppress(ValueError, OSError):
            self._response.close()


def without_runtime_error(end: bytes) -> bytes:
    """The end of a log without the error that a kubelet appends if the container is removed during the reading."""
    return _RUNTIME_ERROR.sub(b"", end)


def is_log_gone(answer: bytes) -> bool:
    """Whether an answer is no log, but a kubelet's sentence, sent with status 200, that the log's file is gone."""
    return _LOG_GONE.fullmatch(answer) is not None


def lost(error: Exception) -> ApiError:
    """The error for an answer that did not arrive, or not completely."""
    return ApiError(Fault.SILENT, f"the API server's answer was lost: {type(error).__name__}: {error}")
