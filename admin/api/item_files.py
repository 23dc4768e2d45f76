"""Files of items: uploaded into a queue, and exported from it.

In the flow: an upload is kept in a file until it is there as a whole, so no transaction waits for who sends it; a
caller that hangs up meanwhile leaves nothing behind. If the process dies in it, or the answer is lost, the same upload
under the same ``Idempotency-Key`` adds each line once. An export is sent page by page, as fast as it is read; one that
is broken off ends without its last chunk, so that nobody takes it for whole. Both have payloads, and are for admins.
"""

from collections.abc import AsyncGenerator
from enum import StrEnum
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import iterate_in_threadpool, run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from ...configs.logger import Logger
from ...items.adding import key_of
from ...items.exporting import exported
from ...items.item_lines import FileFormat
from ...items.listing import Sought
from ...items.states import Status
from ...items.uploading import Report
from ...ledger.errors import LedgerError
from ...scheduler.model.errors import shown
from ..answers.items import LineRefused, UploadAnswer
from ..errors import Refused
from ..problems import problem
from ..refusals import OF_FILES
from .item_requests import QueueGiven, Reference, queue_named
from .moments import Moment, ms_of
from .names import RobotId
from .requiring import AdminCaller, ServicesOf
from .spooling import spooled
from .submitting import Key

_log = Logger(__name__)
router: Final = APIRouter()
WOKEN_AT_ONCE: Final = 16
"""How many robots an upload wakes itself; each that gets an item wakes another."""
_UTF_8: Final = frozenset({"utf-8", "utf8", "us-ascii"})
_TEXT: Final[dict[str, Any]] = {kind.media_type: {"schema": {"type": "string"}} for kind in FileFormat}
_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "JSON Lines, an object a line; or CSV, whose first line names the fields. UTF-8.",
        "content": _TEXT,
    }
}


class UploadMode(StrEnum):
    """Which lines of an upload are added."""

    ALL = "all"
    EACH = "each"


@router.post(
    "/queues/{queue}/items/upload",
    summary="Upload a file of items",
    response_model=UploadAnswer,
    openapi_extra=_BODY,
    responses=OF_FILES,
)
async def upload_items(
    services: ServicesOf,
    caller: AdminCaller,
    request: Request,
    queue: QueueGiven,
    mode: Annotated[
        UploadMode, Query(description="`all`: all lines, or none; `each`: each line that is right.")
    ] = UploadMode.ALL,
    idempotency_key: Key = None,
) -> UploadAnswer | JSONResponse:
    """With `all`, a line that is wrong is 422 `lines_refused`, and nothing is added. Under the same Idempotency-Key,
    each line is added once."""
    kind = _format_of(request)
    found = await run_in_threadpool(services.items.queues.find, queue_named(queue))
    key = None
    if idempotency_key is not None:
        key = key_of("upload", caller.token.token_id, str(found.queue_id), idempotency_key)
    is_whole = mode is UploadMode.ALL
    with services.uploads.place(caller.token.token_id):
        async with spooled(request) as file:
            upload = services.items.uploading.upload
            report = await run_in_threadpool(upload, found, file, kind, by=caller.by, whole=is_whole, key=key)
    # Each wakes one of the robots that wait; who gets an item wakes the next.
    for _ in range(min(report.added - report.known, WOKEN_AT_ONCE)):
        services.items.waking.tell(found.queue_id)
    lines = [LineRefused(line=each.line, field=each.field, problem=each.problem) for each in report.told]
    if is_whole and report.wrong:
        return _refused(report, lines)
    return UploadAnswer(added=report.added, known=report.known, refused=report.wrong, lines=lines)


@router.get(
    "/queues/{queue}/items/export",
    summary="Export the items of a queue",
    response_class=StreamingResponse,
    responses={200: {"description": "The file.", "content": _TEXT}},
)
async def export_items(
    services: ServicesOf,
    caller: AdminCaller,
    queue: QueueGiven,
    format_: Annotated[
        FileFormat, Query(alias="format", description="JSON Lines are exact; in a CSV, no text is a formula.")
    ] = FileFormat.JSONL,
    status: Annotated[list[Status] | None, Query(description="Only these; none: all that are not deleted.")] = None,
    reference: Annotated[Reference | None, Query(description="Only those with this reference.")] = None,
    robot_id: Annotated[RobotId | None, Query(description="Only those that this robot holds, or has ended.")] = None,
    added_from: Annotated[Moment | None, Query(alias="from", description="Added then or later.")] = None,
    added_to: Annotated[Moment | None, Query(alias="to", description="Added before.")] = None,
) -> StreamingResponse:
    """With payloads and results, the latest first. A file that is broken off has no end."""
    found = await run_in_threadpool(services.items.queues.find, queue_named(queue))
    sought = Sought(
        queue_id=found.queue_id,
        statuses=tuple(status or ()),
        reference=reference,
        robot_id=robot_id,
        created_from_ms=ms_of(added_from),
        created_to_ms=ms_of(added_to),
    )

    async def pieces() -> AsyncGenerator[bytes]:
        with services.exports.place(caller.token.token_id):
            yield b""
            async for piece in iterate_in_threadpool(exported(services.items.store, sought, format_)):
                yield piece.encode()

    file = pieces()
    # Before the answer begins, so that a refusal is an answer.
    await anext(file)
    return _File(file, f"{found.name}.{format_.value}", format_.media_type)


class _File(StreamingResponse):
    """An answer that is a file; one that cannot be read to its end is cut off."""

    def __init__(self, pieces: AsyncGenerator[bytes], name: str, media_type: str) -> None:
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        super().__init__(pieces, media_type=f"{media_type}; charset=utf-8", headers=headers)
        self._pieces = pieces

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except LedgerError as error:
            # The server closes a connection whose answer has no end.
            _log.warning("export_broken_off", problem=str(error))
        finally:
            await self._pieces.aclose()


def _format_of(request: Request) -> FileFormat:
    """Return what is uploaded.

    Raises:
        Refused: If nobody reads it.
    """
    name, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().removeprefix("charset=").strip('"')
    encoding = request.headers.get("content-encoding", "identity")
    for kind in FileFormat:
        if name.strip().lower() == kind.media_type and charset in {"", *_UTF_8} and encoding == "identity":
            return kind
    given = shown(name) if encoding == "identity" else shown(encoding)
    allowed = f"{', '.join(kind.media_type for kind in FileFormat)}, in UTF-8 and not compressed"
    raise Refused(415, "media_type", f"nobody reads {given} here; allowed: {allowed}")


def _refused(report: Report, lines: list[LineRefused]) -> JSONResponse:
    count = "1 line is" if report.wrong == 1 else f"{report.wrong:,} lines are"
    detail = f"{count} wrong, so nothing was added; mode=each adds the others"
    told = [each.model_dump() for each in lines]
    return problem(422, "lines_refused", detail, refused=report.wrong, lines=told)
