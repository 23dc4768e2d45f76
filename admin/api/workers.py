"""Worker processes: who lives, and what each does now.

In the flow: from Redis alone, where each worker signs every two seconds. Everybody who may read sees how many threads
work; on which executions and on which machine, operators see. Others see which of their own executions run.
"""

from typing import Final

from ...scheduler.workers import Workers
from ..answers.workers import RunningAnswer, WorkerAnswer, WorkersAnswer
from ..auth.scopes import Scope
from .moments import now_at, shown_at
from .queue_routes import QueueRouter
from .requiring import ReadCaller, ServicesOf

router: Final = QueueRouter()


@router.get("/workers", summary="List worker processes and what they do")
def list_workers(services: ServicesOf, caller: ReadCaller) -> WorkersAnswer:
    """Those that signed in the last eight seconds; one that was killed is gone then."""
    found = Workers(services.queue.scripts).alive()
    is_operator = caller.token.may(Scope.OPERATE)
    ids = [] if is_operator else [one.execution_id for each in found for one in each.running]
    metas = dict(zip(ids, services.queue.views.metas(ids), strict=True)) if ids else {}
    workers = [
        WorkerAnswer(
            worker_id=each.worker_id,
            host=each.host if is_operator else None,
            pid=each.pid if is_operator else None,
            release=each.release,
            since=shown_at(each.since_ms),
            threads=each.threads,
            busy=each.busy,
            lanes=list(each.lanes),
            running=[
                RunningAnswer(execution_id=one.execution_id, attempt=one.attempt, lane=one.lane)
                for one in each.running
                if is_operator or caller.sees(metas[one.execution_id].get("user"))
            ],
            stopping=each.stopping,
        )
        for each in found
    ]
    return WorkersAnswer(
        workers=workers,
        threads=sum(each.threads for each in workers),
        busy=sum(each.busy for each in workers),
        source="redis",
        as_of=now_at(services.queue),
    )
