"""``bandmaster dead``: the executions that used up their tries, to be looked at, tried again or forgotten.

In the flow: a dead letter keeps its event (or its Dramatiq message) until it is dropped. Trying it again accepts the
same work under a new id, with all the checks of a new one, and forgets the letter only after that; if the process dies
in between, the letter is still there, and the new execution runs.
"""

from typing import Annotated, Any, Final, cast

import dramatiq
import typer
from dramatiq.errors import DecodeError

from bandmaster.cli.exits import CommandFailed, Exit
from bandmaster.cli.finding import EVERYTHING, meant
from bandmaster.cli.listing import say_records
from bandmaster.cli.opening import opened
from bandmaster.cli.records import read_records, read_result
from bandmaster.cli.screen import note, say, say_json
from bandmaster.scheduler.errors import InvalidRequest, UnknownExecution
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.identifiers import check_execution_id, new_execution_id
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transitions import Candidate

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Dead letters, or beginnings of their ids.")]

_OF_ONE_TRY: Final = frozenset({"retries", "traceback", "eta", "requeue_timestamp", "redis_message_id"})
"""Options in which a message remembers its earlier tries."""


def list_dead(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="At most so many.")] = 20,
    as_json: Json = False,
) -> None:
    """List, retry or drop executions that used up their tries.

    \b
    Examples:
      bandmaster dead
      bandmaster dead retry 0192f0c1-7c
      bandmaster dead drop 0192f0c1-7c
    """
    if context.invoked_subcommand is not None:
        return
    with opened() as bandmaster:
        records = list(read_records(bandmaster.queue, bandmaster.queue.views.dead(limit)).values())
        results = {each.execution_id: read_result(bandmaster.queue, each.execution_id) for each in records}
        now_ms = bandmaster.queue.views.server_time_ms()
    if as_json:
        results_json = {name: None if result is None else result.model_dump() for name, result in results.items()}
        say_json({"executions": [each.as_json() | {"result": results_json[each.execution_id]} for each in records]})
    elif records:
        say_records(records, now_ms)
    else:
        say("nothing is dead")


def retry_dead(execution_ids: Ids, as_json: Json = False) -> None:
    """Run dead letters again: the same work under a new id.

    \b
    Examples:
      bandmaster dead retry 0192f0c1-7c 0192f0c2-01
    """
    retried: list[dict[str, object]] = []
    with opened() as bandmaster:
        queue = bandmaster.queue
        for execution_id in _found(queue, execution_ids):
            parked = queue.transitions.park(_again(queue, execution_id))
            queue.drop(execution_id)
            retried.append(
                {"execution_id": execution_id, "new_execution_id": parked.execution_id, "position": parked.position}
            )
            if not as_json:
                say(f"{execution_id} again as {parked.execution_id}, position {parked.position}")
        if missing := bandmaster.missing_worker():
            note(missing)
    if as_json:
        say_json({"retried": retried})


def drop_dead(execution_ids: Ids, as_json: Json = False) -> None:
    """Forget dead letters.

    \b
    Examples:
      bandmaster dead drop 0192f0c1-7c
    """
    dropped: list[str] = []
    with opened() as bandmaster:
        for execution_id in _found(bandmaster.queue, execution_ids):
            if bandmaster.queue.drop(execution_id):
                dropped.append(execution_id)
                if not as_json:
                    say(f"{execution_id} dropped")
    if as_json:
        say_json({"dropped": dropped})


def _found(queue: ExecutionQueueService, typed: list[str]) -> list[str]:
    """The dead letters that were meant; all of them are found before any is touched."""
    letters = queue.views.dead(EVERYTHING)
    found: list[str] = []
    for one in dict.fromkeys(typed):
        check_execution_id(one)
        try:
            found.append(one if one in letters else meant(one, letters))
        except UnknownExecution:
            raise CommandFailed(
                f"no dead letter {one!r} is known: `bandmaster dead` lists them", Exit.NOT_FOUND
            ) from None
    return found


def _again(queue: ExecutionQueueService, execution_id: str) -> Candidate:
    """What is accepted in place of a dead letter."""
    meta, new_id = queue.views.meta(execution_id), new_execution_id()
    event, message = queue.views.event(execution_id), queue.views.message(execution_id)
    if not meta or (event is None and message is None):
        raise CommandFailed(f"{execution_id} has nothing left to run: `bandmaster dead drop {execution_id}` forgets it")
    try:
        return Candidate(
            execution_id=new_id,
            lane=meta["lane"],
            band=int(meta["band"]),
            action=meta["action"],
            user_id=meta.get("user"),
            gates=tuple(meta.get("gates", "").split()),
            timeout_ms=int(meta.get("timeout_ms", 0)),
            event=b"" if event is None else _event_again(event, new_id),
            message=b"" if message is None else _message_again(message, new_id),
        )
    except (InvalidRequest, DecodeError) as error:
        raise CommandFailed(f"{execution_id} cannot be run again: {error}") from None


def _event_again(raw: bytes, new_id: str) -> bytes:
    return ExecutionRequestedEvent.from_json(raw).model_copy(update={"execution_id": new_id}).to_json()


def _message_again(raw: bytes, new_id: str) -> bytes:
    old = cast("dramatiq.Message[Any]", dramatiq.Message.decode(raw))
    options = {name: value for name, value in old.options.items() if name not in _OF_ONE_TRY}
    again: dramatiq.Message[Any] = dramatiq.Message(
        queue_name=old.queue_name,
        actor_name=old.actor_name,
        args=old.args,
        kwargs=old.kwargs,
        options=options | {"execution_id": new_id},
    )
    return again.encode()
