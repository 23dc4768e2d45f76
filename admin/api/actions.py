"""Actions and their queues; users with what they have waiting.

In the flow: figures of Redis as they are now. They are counts, so whoever may read sees those of every action; who the
users are is told to operators only.
"""

from typing import Final

from ...scheduler.engine.controls import Dropped
from ...scheduler.events.fields import Action
from ...scheduler.model.times import iso_of
from ...scheduler.verdicts import on_action
from ..answers.figures import ActionAnswer, Actions, QueueStats, UserAnswer, Users
from ..errors import Refused, not_found
from .judged import verdict_answers
from .moments import now_at, shown_at
from .queue_routes import QueueRouter
from .requiring import OperateCaller, ReadCaller, ServicesOf

MOST_USERS: Final = 1_000
router: Final = QueueRouter()


@router.get("/actions", summary="List actions with their figures")
def list_actions(services: ServicesOf, caller: ReadCaller) -> Actions:
    """Those that are used the most first."""
    found = services.queue.overview.actions()
    return Actions(
        actions=[
            ActionAnswer(
                action=each.action,
                queue_length=each.waiting,
                active_count=each.running,
                total_enqueued=each.total_enqueued,
                total_completed=each.total_completed,
            )
            for each in reversed(found)
        ],
        source="redis",
        as_of=now_at(services.queue),
    )


@router.get("/actions/{ref}/queue-stats", summary="Show the queue of an action")
def show_queue_stats(services: ServicesOf, caller: ReadCaller, ref: Action) -> QueueStats:
    """Length, running, limit, oldest wait, and lifetime totals."""
    queue = services.queue
    if not queue.overview.is_known(f"action:{ref}"):
        raise not_found(f"nothing was ever sent of the action {ref}")
    now_ms = queue.views.server_time_ms()
    found = queue.action_statistics(ref)
    oldest, held = found.oldest_enqueued_at, queue.gates.held_by_rate(f"action:{ref}")
    return QueueStats(
        action=ref,
        queue_length=found.queue_length,
        active_count=found.active_count,
        max_concurrent=found.max_concurrent,
        oldest_enqueued_at=None if oldest is None else iso_of(int(oldest)),
        total_enqueued=found.total_enqueued,
        total_completed=found.total_completed,
        verdicts=verdict_answers(on_action(ref, found, now_ms, set(queue.controls.paused()), held and held.rate)),
        source="redis",
        as_of=shown_at(now_ms),
    )


@router.delete("/actions/{ref}", status_code=204, summary="Forget the figures of an unused action")
def drop_action(services: ServicesOf, caller: OperateCaller, ref: Action) -> None:
    """Its limit and its pause stay."""
    dropped = services.queue.controls.drop_action(ref, by=caller.by)
    if dropped is Dropped.IN_USE:
        raise Refused(409, "in_use", "an execution of it waits, is scheduled or runs")
    if dropped is Dropped.UNKNOWN:
        raise not_found(f"nothing was counted of the action {ref}")


@router.get("/users", summary="List users with executions that wait")
def list_users(services: ServicesOf, caller: OperateCaller) -> Users:
    """Those with the most first, a thousand at most."""
    return Users(
        users=[
            UserAnswer(user_id=each.user_id, waiting=each.waiting, running=each.running)
            for each in services.queue.overview.users()[:MOST_USERS]
        ],
        source="redis",
        as_of=now_at(services.queue),
    )
