"""Keeps a long body in a file while it comes, so that memory holds a small piece of it, however long it is.

In the flow: the border bounds the body in bytes and time; what reads it does so when it is there as a whole, as often
as it likes. The file has no name, so nothing is left of it when the caller hangs up, a route fails or the process is
killed.
"""

import io
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import BinaryIO, Final

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from ...configs.logger import Logger
from ..errors import Refused, busy

_log = Logger(__name__)
PIECE_BYTES: Final = 1_048_576
"""How much is in memory before it is written."""


@asynccontextmanager
async def spooled(request: Request) -> AsyncGenerator[BinaryIO]:
    """Yield the body of a request as a file, once all of it has come.

    Raises:
        Refused: If the caller hung up, or there is no room for it.
        HTTPException: If it is too long or too slow, as the border says.
    """
    # Without a buffer of its own, which would be written once more when the file is closed on a disk that is full.
    with tempfile.TemporaryFile(buffering=0) as file:
        try:
            await _keep(request, file)
        except ClientDisconnect:
            raise Refused(400, "refused", "the caller hung up before the end of the body") from None
        except OSError as error:
            _log.warning("upload_not_kept", problem=error.strerror)
            raise busy("there is no room to keep the body of this request; the API's log says more") from None
        with io.BufferedReader(file) as reader:
            yield reader


async def _keep(request: Request, file: io.FileIO) -> None:
    piece = bytearray()
    async for part in request.stream():
        piece += part
        if len(piece) >= PIECE_BYTES:
            await run_in_threadpool(_write, file, piece)
            piece = bytearray()
    await run_in_threadpool(_write, file, piece)


def _write(file: io.FileIO, piece: bytearray) -> None:
    left = memoryview(piece)
    while left:
        left = left[file.write(left) :]
