"""An answer of the API server that goes on for a while: a watch, or a log that is followed.

In the flow: `client.py` opens it, one thread reads it, and any thread may close it, which wakes the reader at once; a
watch that has to stop must not wait for a server that is silent. When the connection breaks, or nothing comes for
longer than was agreed, the reader gets an ``ApiError``; a server that ends its answer properly just ends it.
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


class ByteStream:
    """The bytes of an answer, as they come.

    Args:
        response: urllib3's, not read yet.
    """

    def __init__(self, response: Any) -> None:
        self._response = response
        self._closed = False

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._response.stream(_CHUNK_BYTES, decode_content=True):
                if self._closed:
                    return  # shut down under the reader, a TLS socket hands out what it cannot decipher any more
                yield chunk
        except (urllib3.exceptions.HTTPError, OSError, AttributeError, ValueError) as error:
            # The latter two: what urllib3 stumbles over when another thread closes what it reads.
            if not self._closed:
                raise lost(error) from error
        finally:
            self.close()

    def lines(self) -> Iterator[bytes]:
        """The same, line by line, without the line ends and without a last line that is not complete."""
        begun: list[bytes] = []
        for chunk in self:
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                yield b"".join((*begun, line))
                begun.clear()
            if rest:
                begun.append(rest)

    def close(self) -> None:
        """Read no more, and wake whoever is reading."""
        self._closed = True
        with contextlib.suppress(ValueError, RuntimeError, OSError):  # it was read to its end
            self._response.shutdown()
        with contextlib.suppress(ValueError, OSError):
            self._response.close()


def without_runtime_error(end: bytes) -> bytes:
    """The end of a log without what a kubelet appends when the container is removed while its log is followed."""
    return _RUNTIME_ERROR.sub(b"", end)


def lost(error: Exception) -> ApiError:
    """The error of an answer that did not come, or not completely."""
    return ApiError(Fault.SILENT, f"the API server's answer was lost: {type(error).__name__}: {error}")
