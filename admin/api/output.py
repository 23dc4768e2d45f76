"""Shows what an execution printed, the end of it, or all as it comes; and how it ended.

In the flow: for its owner and for admins. What Redis is asked takes a turn as everywhere; the pods are asked in threads
of their own, so that a cluster that hangs holds up only who asks for an output.
"""

from typing import Annotated, Final

from fastapi import Header, Query
from fastapi.responses import StreamingResponse

from ...configs.logger import Logger
from ...k8s.errors import PodError, PodsForbidden, PodsUnavailable
from ...k8s.pods import pod_name
from ...scheduler.engine.record import Record, Result
from ...scheduler.events.fields import ExecutionId
from ..answers.executions import LogAnswer, ResultAnswer
from ..auth.tokens import Caller
from ..errors import not_found
from ..output.following import Following
from ..output.telling import read_place
from ..services import Services
from .finding import Found, check_reads, find, result_of
from .moments import now_at
from .queue_routes import QueueRouter, in_turn
from .requiring import ReadCaller, ServicesOf
from .streams import EventStream, stream_of

_log = Logger(__name__)
TAIL_BYTES: Final = 65_536
MOST_TAIL_BYTES: Final = 1_048_576
_STREAM: Final = stream_of(
    "Events: `state`, `attempt`, `output` (with an `id`) and, at last, `end`; their `data` is JSON. `reset`: what "
    "comes next does not continue what was got before. `withheld`: the API may not read what pods print, and the "
    "end of it follows when the execution has ended."
)
router: Final = QueueRouter()


@router.get("/{execution_id}/logs", summary="Show what an execution printed")
async def show_logs(
    services: ServicesOf,
    caller: ReadCaller,
    execution_id: ExecutionId,
    tail_bytes: Annotated[int, Query(ge=1, le=MOST_TAIL_BYTES, description="At most so much of the end.")] = TAIL_BYTES,
) -> LogAnswer:
    """The end of it, from its pod while that exists and may be read, else as it was kept; for its owner and for
    admins."""
    found = await in_turn(services, _readable, services, caller, execution_id)
    away: PodsUnavailable | None = None
    withheld = False
    if found.record.attempt:
        try:
            # Without a turn: a cluster may take its time.
            output = await services.followers.tails.run(_tail, services, found.record, tail_bytes + 1)
            text = output[-tail_bytes:].decode(errors="backslashreplace")
            return LogAnswer(execution_id=execution_id, source="pod", output=text, truncated=len(output) > tail_bytes)
        except PodsUnavailable as error:
            away = error
        except PodsForbidden as error:
            _log.warning("output_withheld", execution_id=execution_id, problem=str(error))
            withheld = True
        except PodError:
            pass  # The pod was collected, or was never made: there is only what was kept.
    kept_result = await in_turn(services, result_of, services, found)
    if kept_result is None:
        if away is not None:
            raise away
        return LogAnswer(execution_id=execution_id, source="none", output="", truncated=False, withheld=withheld)
    result, _ = kept_result
    kept = result.output_tail.encode()
    return LogAnswer(
        execution_id=execution_id,
        source="result",
        output=kept[-tail_bytes:].decode(errors="ignore"),
        truncated=result.output_truncated or len(kept) > tail_bytes,
        withheld=withheld,
    )


@router.get(
    "/{execution_id}/logs/follow",
    summary="Follow what an execution prints",
    response_class=StreamingResponse,
    responses=_STREAM,
)
async def follow_logs(
    services: ServicesOf,
    caller: ReadCaller,
    execution_id: ExecutionId,
    tail_bytes: Annotated[
        int | None,
        Query(ge=1, le=MOST_TAIL_BYTES, description="Begin so much before the present end; none: at the beginning."),
    ] = None,
    last_event_id: Annotated[str | None, Header(description="The id of the last event that was got.")] = None,
) -> StreamingResponse:
    """As it comes, through its retries, until it has ended; for its owner and for admins. An `output` has some text and
    its `position`, how many bytes of its attempt's output are before it; with the last event's id, it goes on there."""
    after = None if last_event_id is None else read_place(last_event_id)

    def result() -> Result | None:
        kept = result_of(services, _readable(services, caller, execution_id))
        return None if kept is None else kept[0]

    def look() -> Record:
        return _readable(services, caller, execution_id).record

    following = Following(services.followers, services.pods, look, result, after=after, tail_bytes=tail_bytes)
    pieces = services.followers.placed(caller.token.token_id, following.frames())
    # Before the answer begins, so that an error is an answer.
    await anext(pieces)
    return EventStream(pieces, services, caller)


@router.get("/{execution_id}/result", summary="Show how an execution ended")
def show_result(services: ServicesOf, caller: ReadCaller, execution_id: ExecutionId) -> ResultAnswer:
    """Its exit code, why, how long it ran and the end of what it printed; for its owner and for admins."""
    kept = result_of(services, _readable(services, caller, execution_id))
    if kept is None:
        raise not_found("no result of it is kept, or it has not ended yet")
    result, source = kept
    as_of = now_at(services.queue)
    return ResultAnswer(execution_id=execution_id, **result.model_dump(), source=source, as_of=as_of)


def _readable(services: Services, caller: Caller, execution_id: str) -> Found:
    found = find(services, caller, execution_id)
    check_reads(caller, found.record)
    return found


def _tail(services: Services, record: Record, size: int) -> bytes:
    name = record.pod or pod_name(record.execution_id, record.attempt)
    return b"".join(services.pods().logs(name, follow=False, tail_bytes=size))
