"""Triggers: made, changed and deleted by admins, since they say what is run, and as whom.

In the flow: each change names what was seen (`If-Match`) and is in the audit; the ledger's process fires them. Nothing
here needs Redis.
"""

from typing import Final

from fastapi import APIRouter, Response

from ...items.trigger import Trigger
from ..answers.triggers import TriggerAnswer, TriggerDeleted, TriggerList
from ..auth.scopes import Scope
from ..auth.tokens import Caller
from .item_requests import IfMatch, changed_of, queue_named, revision_of, tag
from .item_shapes import shown_now
from .requiring import AdminCaller, OperateCaller, ServicesOf
from .strict_bodies import StrictRoute
from .trigger_requests import NewTrigger, TriggerChange, TriggerGiven, trigger_answer

router: Final = APIRouter(route_class=StrictRoute)
_MAY_BE_NONE: Final = frozenset({"image", "user_id", "notify_url"})


@router.get("/triggers", summary="List triggers")
def list_triggers(services: ServicesOf, caller: OperateCaller) -> TriggerList:
    """By name. What they run is told to admins."""
    found, tells = services.items.triggers.all(), caller.token.may(Scope.ADMIN)
    return TriggerList(
        triggers=[trigger_answer(each, tells_all=tells) for each in found],
        source="ledger",
        as_of=shown_now(services),
    )


@router.post("/triggers", status_code=201, summary="Make a trigger")
def create_trigger(services: ServicesOf, caller: AdminCaller, new: NewTrigger, response: Response) -> TriggerAnswer:
    """409 if another has the name."""
    fields = {name: getattr(new, name) for name in NewTrigger.model_fields}
    return _shown(services.items.triggers.create(by=caller.by, **fields), caller, response)


@router.get("/triggers/{trigger}", summary="Show a trigger")
def show_trigger(
    services: ServicesOf, caller: OperateCaller, trigger: TriggerGiven, response: Response
) -> TriggerAnswer:
    """Its ETag says which state was seen. What it runs is told to admins."""
    return _shown(services.items.triggers.find(queue_named(trigger)), caller, response)


@router.put("/triggers/{trigger}", summary="Change a trigger")
def change_trigger(
    services: ServicesOf,
    caller: AdminCaller,
    trigger: TriggerGiven,
    new: TriggerChange,
    response: Response,
    if_match: IfMatch = None,
) -> TriggerAnswer:
    """What is left out stays. One that backs off is tried at once. 428 without If-Match; 412 if it was changed
    meanwhile.
    """
    revision = revision_of(if_match)
    changed = changed_of(new, _MAY_BE_NONE)
    after = services.items.triggers.change(queue_named(trigger), changed, by=caller.by, revision=revision)
    return _shown(after, caller, response)


@router.delete("/triggers/{trigger}", summary="Delete a trigger")
def delete_trigger(services: ServicesOf, caller: AdminCaller, trigger: TriggerGiven) -> TriggerDeleted:
    """What it started goes on, and settles its items."""
    found = services.items.triggers.delete(queue_named(trigger), by=caller.by)
    return TriggerDeleted(name=found.name, live_jobs=found.live_jobs)


def _shown(trigger: Trigger, caller: Caller, response: Response) -> TriggerAnswer:
    tag(response, trigger.revision)
    return trigger_answer(trigger, tells_all=caller.token.may(Scope.ADMIN))
