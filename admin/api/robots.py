"""What robots do: take items, say what came of them, and add some.

In the flow: a robot's token says which robot it is, and for which queues; an admin may speak for any. A request that
takes items waits without a thread until one comes; a caller that has gone gets none. Nothing here needs Redis: it only
wakes those that wait.
"""

import time
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from ...items.adding import key_of
from ...items.claiming import Claim
from ...items.errors import QueueUnknown
from ...items.hearing import LOOK_SECONDS
from ...items.model import Item, Queue
from ...items.outcome import Said
from ...items.states import Status
from ...scheduler.model.errors import InvalidRequest
from ..answers.items import ClaimedItem, ClaimedItems, ItemRow
from ..auth.tokens import Caller
from ..errors import busy, forbidden
from ..services import Services
from .item_requests import QUEUE_ID_MAX, ItemSaid, NewNamedItem, OfItem, Wanted
from .item_shapes import claimed_item, item_row
from .moments import ms_of
from .names import MadeId, QueueName, RobotId
from .plain_claims import PlainClaims
from .queue_routes import TURN_SECONDS
from .requiring import RobotCaller, ServicesOf, SettleCaller
from .strict_bodies import StrictRoute
from .submitting import Key

router: Final = APIRouter(route_class=StrictRoute)


@router.post("/queue-items/add", status_code=201, summary="Add an item, as a robot")
def add_item_by_name(
    services: ServicesOf, caller: RobotCaller, new: NewNamedItem, idempotency_key: Key = None
) -> ItemRow:
    """By the queue's name. 409 on a reference that the queue has already, if it wants each once."""
    _check_queue(caller, new.queue_name)
    return added(services, caller, services.items.queues.find(new.queue_name), new, idempotency_key)


async def claim_items(
    services: ServicesOf, caller: RobotCaller, request: Request, wanted: Wanted, idempotency_key: Key = None
) -> ClaimedItems:
    """The larger `priority` first, then the earlier deadline, then the earlier added. Sent again under the same
    Idempotency-Key, it gets the same items, as long as they are held."""
    found = await _claimed(services, caller, request, wanted, idempotency_key)
    return ClaimedItems(items=[claimed_item(each) for each in found])


router.add_api_route(
    "/queue-items/next", claim_items, methods=["POST"], summary="Take items", route_class_override=PlainClaims
)


@router.get(
    "/queue-items/next",
    summary="Take an item, by a request that may be lost",
    deprecated=True,
    response_model=ClaimedItem,
    responses={204: {"description": "Nothing waits."}},
)
async def claim_item(
    services: ServicesOf,
    caller: RobotCaller,
    request: Request,
    queue_name: Annotated[QueueName | None, Query(description="From this queue.")] = None,
    queue_id: Annotated[int | None, Query(ge=1, le=QUEUE_ID_MAX, description="Or from this.")] = None,
    robot_id: Annotated[RobotId | None, Query(description="Who takes it; a robot's token says it.")] = None,
) -> ClaimedItem | None:
    """Of old; with a token only, and no session of a browser: it changes something. `POST` has keys and waits."""
    if caller.session is not None:
        raise forbidden("this takes an item: it needs a token, and not the session of a browser")
    wanted = Wanted(queue_name=queue_name, queue_id=queue_id, robot_id=robot_id)
    found = await _claimed(services, caller, request, wanted, None)
    # FastAPI lets an answer be none; its status has to be said.
    return claimed_item(found[0]) if found else Response(status_code=204)  # type: ignore[return-value]


@router.get("/queue-items/{item_id}/held", summary="Read an item that one holds")
def show_held_item(
    services: ServicesOf,
    caller: SettleCaller,
    item_id: MadeId,
    robot_id: Annotated[RobotId | None, Query(description="Who holds it; a robot's token says it.")] = None,
) -> ClaimedItem:
    """By the robot or the execution that holds it only: 409 `lease_lost` for all others, as when it is settled. Its
    lease is not renewed."""
    item = services.items.outcome.held(
        item_id,
        robot_id=_robot_of(caller, robot_id),
        queues=caller.token.queues,
        job_id=caller.token.execution_id,
    )
    return claimed_item(item)


@router.put("/queue-items/{item_id}", summary="Say what came of an item")
def settle_item(services: ServicesOf, caller: SettleCaller, item_id: MadeId, said: ItemSaid) -> ItemRow:
    """By the robot that holds it only: 409 `lease_lost` for all others, with what has become of it."""
    item = services.items.outcome.say(
        item_id,
        Said(
            status=Status(said.status),
            result=said.result,
            error_message=said.error_message,
            failure=said.failure,
            progress=said.progress,
            lease_seconds=said.lease_seconds,
            available_ms=ms_of(said.postpone_until),
        ),
        robot_id=_robot_of(caller, said.robot_id),
        fence=said.fence,
        queues=caller.token.queues,
        job_id=caller.token.execution_id,
    )
    if item.status is Status.NEW:
        services.items.waking.tell(item.queue_id)
    return item_row(item)


def added(services: Services, caller: Caller, queue: Queue, new: OfItem, idempotency_key: str | None) -> ItemRow:
    """Add an item, and wake who waits for it."""
    item = services.items.adding.add(
        queue,
        by=caller.by,
        payload=new.payload,
        reference=new.reference,
        priority=new.priority,
        deadline_ms=ms_of(new.deadline_at),
        available_ms=ms_of(new.postpone_until),
        key=None if idempotency_key is None else key_of("add", caller.token.token_id, idempotency_key),
    )
    if item.status is Status.NEW:
        services.items.waking.tell(item.queue_id)
    return item_row(item)


async def _claimed(
    services: Services, caller: Caller, request: Request, wanted: Wanted, idempotency_key: str | None
) -> list[Item]:
    robot_id = _robot_of(caller, wanted.robot_id)
    queue = await _queue_of(services, caller, wanted)
    key = None
    if idempotency_key is not None:
        key = key_of("claim", caller.token.token_id, robot_id, str(queue), idempotency_key)
    ends = time.monotonic() + wanted.wait_seconds

    async def look() -> list[Item]:
        claim = Claim(queue, robot_id, wanted.count, wanted.lease_seconds, key)
        # Who waits for an item waits for a turn as well.
        patience_seconds = max(TURN_SECONDS, ends - time.monotonic())
        try:
            return await services.items.claiming.join(
                claim, patience_seconds=patience_seconds, has_gone=request.is_disconnected
            )
        except TimeoutError:
            raise busy(
                f"others claim items already, and their claims have not ended within {patience_seconds:.3g} s"
            ) from None

    found = await look()
    if found or wanted.wait_seconds == 0:
        return found
    queue_id = (
        queue if isinstance(queue, int) else (await run_in_threadpool(services.items.queues.find, queue)).queue_id
    )
    waking = services.items.waking
    with waking.line(queue_id) as place:
        while True:
            place.look()
            if found := await look():
                # Where there was one, there may be more.
                waking.wake(queue_id)
                return found
            while not await place.wait(min(LOOK_SECONDS, max(0.0, ends - time.monotonic()))):
                if services.closing.is_set() or time.monotonic() >= ends or await request.is_disconnected():
                    return []
            if await request.is_disconnected():
                # What it would get, nobody would hold.
                return []


async def _queue_of(services: Services, caller: Caller, wanted: Wanted) -> str | int:
    if (wanted.queue_id is None) == (wanted.queue_name is None):
        raise InvalidRequest("queue_id, queue_name", "give exactly one of the two")
    if wanted.queue_name is not None:
        _check_queue(caller, wanted.queue_name)
        return wanted.queue_name
    assert wanted.queue_id is not None
    if caller.token.queues is not None:
        found = await run_in_threadpool(services.items.queues.find, wanted.queue_id)
        if found.name not in caller.token.queues:
            raise QueueUnknown(wanted.queue_id)
    return wanted.queue_id


def _check_queue(caller: Caller, name: str) -> None:
    if caller.token.queues is not None and name not in caller.token.queues:
        # As if there were none.
        raise QueueUnknown(name)


def _robot_of(caller: Caller, given: str | None) -> str:
    own = caller.token.robot_id
    if own is not None and given not in (None, own):
        raise forbidden(f"this token is that of robot {own}")
    robot_id = own or given
    if robot_id is None:
        raise InvalidRequest("robot_id", "it is missing, and the token is no robot's", allowed="which robot it is")
    return robot_id
