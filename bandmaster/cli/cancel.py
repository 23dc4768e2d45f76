"""``bandmaster cancel`` and ``bandmaster priority``: end executions, or let them start sooner or later.

In the flow: the transition itself is made here, in Redis, so that what waits is ended although no worker runs. What
runs in a pod is CANCELLING then, its slot held until the pod is gone; a worker is told at once to delete the pod. If
that message, or this process, is lost in between, the next round of `watch_completions` deletes it all the same.
"""

from typing import Annotated, Final

import dramatiq
import typer
from dramatiq.brokers.redis import RedisBroker

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.finding import find_id, find_ids
from bandmaster.cli.opening import Opened, opened
from bandmaster.cli.screen import note, say, say_json
from bandmaster.scheduler.errors import UnknownExecution, shown
from bandmaster.scheduler.grants import Cancellation, Code
from bandmaster.scheduler.priority import Priority
from bandmaster.scheduler.states import TERMINAL, State

# Sent by name, as the scheduler process sends `try_schedule`: the actors' package would connect and log as a worker.
DELETE_POD: Final = "delete_pod"
LIFECYCLE_QUEUE: Final = "lifecycle"


def cancel(
    execution_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Executions, or beginnings of ids.")],
    reason: Annotated[str, typer.Option(help="Why; shown by `show`.")] = "cancelled",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """End executions, whether they wait or run.

    What waits ends at once, even if no worker runs. What runs is asked to end:
    it is CANCELLING, and keeps its slot, until it is gone.

    \b
    Examples:
      bandmaster cancel 0192f0c1-7c
      bandmaster list --state waiting --user ann --json |
        jq -r '.executions[].execution_id' | xargs bandmaster cancel
    """
    codes: list[Exit] = []
    documents: list[dict[str, object]] = []
    with opened() as bandmaster:
        for found, unknown in find_ids(bandmaster.queue, execution_ids):
            cancelled = None if unknown else bandmaster.queue.transitions.cancel(found, reason=reason)
            if cancelled is None or cancelled.code is Code.UNKNOWN:
                note(str(unknown or UnknownExecution(execution_id=found)))
                codes.append(Exit.NOT_FOUND)
                documents.append({"execution_id": found, "code": Code.UNKNOWN, "state": None})
                continue
            _delete_pod(bandmaster, cancelled)
            codes.append(Exit.OK if cancelled.code is Code.OK else Exit.FAILED)
            documents.append({"execution_id": found, "code": cancelled.code, "state": cancelled.state})
            if not as_json:
                _say(found, cancelled)
    if as_json:
        say_json({"executions": documents})
    raise typer.Exit(max(codes))


def priority(
    execution_id: Annotated[str, typer.Argument(metavar="ID", help="An execution, or the beginning of its id.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="critical, high, normal, low or background.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Move a waiting execution to another priority.

    It keeps the time at which it was accepted.

    \b
    Examples:
      bandmaster priority 0192f0c1-7c critical
    """
    band = Priority.parse(int(name) if name.isdecimal() else name)
    with opened() as bandmaster:
        found = find_id(bandmaster.queue, execution_id)
        code, state = bandmaster.queue.transitions.reprioritise(found, int(band))
        if code is Code.UNKNOWN:
            raise UnknownExecution(execution_id=found)
        if code is not Code.OK:
            raise CommandFailed(f"{found} does not wait any more (state {state}): its priority was not changed")
        position = bandmaster.queue.explain(found).position
    if as_json:
        say_json({"execution_id": found, "priority": band.name, "state": state, "position": position})
    else:
        say(f"{found}  {band.name.lower()}{'' if position is None else f', position {position}'}")


def _delete_pod(bandmaster: Opened, cancelled: Cancellation) -> None:
    if cancelled.state is not State.CANCELLING or cancelled.pod is None:
        return
    broker = RedisBroker(
        client=bandmaster.client, namespace=bandmaster.settings.redis.dramatiq_namespace, middleware=[]
    )
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=LIFECYCLE_QUEUE,
        actor_name=DELETE_POD,
        args=(cancelled.pod, cancelled.pod_uid),
        kwargs={},
        options={},
    )
    broker.enqueue(message)


def _say(execution_id: str, cancelled: Cancellation) -> None:
    if cancelled.code is Code.ENDED:
        note(f"{shown(execution_id)} has ended already: {cancelled.state}")
    elif cancelled.state in TERMINAL:
        say(f"{execution_id}  {cancelled.state}")
    else:
        say(f"{execution_id}  {cancelled.state}: asked to end, keeps its slot until it is gone")
