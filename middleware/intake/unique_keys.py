"""The option ``unique``: a key of which one execution at a time is accepted, as a template over an actor's arguments.

In the flow: checked when the actor is declared or the message is sent, filled when the message is parked. A text is the
key, with the defaults; `Unique` says more. A message's own option takes the place of its actor's; None: no key. Pure
functions.
"""

import inspect
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final, Literal, Required, TypedDict, cast

from dramatiq import Message

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.unique import MAX_SECONDS, Conflict, UniqueKey, Until
from .gate_templates import check_fields, check_gates, filled

OPTION: Final = "unique"
ALLOWED: Final = 'a key like "report:{tenant}", or Unique(key=…)'


class Unique(TypedDict, total=False):
    """What the option ``unique`` says; a dict, so that a message can carry it."""

    key: Required[str]
    """The key, the same for all actors; with templates over the actor's arguments: ``"report:{tenant}"``."""
    until: Literal["started", "ended"]
    """While one waits (the default), or until it has ended, another with its key is not accepted."""
    seconds: float
    """In place of `until`: for so long after it was accepted, even if it has ended."""
    on_conflict: Literal["drop", "replace", "refuse"]
    """What happens to the second one. ``drop`` (the default): `send` returns it with the first one's id. ``replace``:
    it is accepted, and the first one is cancelled, if that waits. ``refuse``: `send` raises NotUnique."""


def read_unique(value: object) -> UniqueKey | None:
    """Return what the option says, with a key that may be a template.

    Raises:
        InvalidRequest: If it is not allowed.
    """
    if value is None:
        return None
    given = {"key": value} if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise InvalidRequest(OPTION, f"{shown(value)} is no key", allowed=ALLOWED)
    said = cast("dict[object, object]", given)
    for name in said:
        if name not in Unique.__annotations__:
            raise InvalidRequest(OPTION, f"{shown(name)} is no part of it", allowed=", ".join(Unique.__annotations__))
    key = said.get("key")
    if not isinstance(key, str):
        raise InvalidRequest(OPTION, f"{shown(key)} is no key", allowed=ALLOWED)
    if "seconds" in said and "until" in said:
        raise InvalidRequest(OPTION, "both until and seconds are given", allowed="one of the two")
    conflict = said.get("on_conflict", Conflict.DROP)
    if conflict not in list(Conflict):
        raise InvalidRequest(OPTION, f"on_conflict is {shown(conflict)}", allowed=", ".join(Conflict))
    with _of_this_option():
        check_gates((key,))
    return UniqueKey(key, _scope(said), Conflict(cast("str", conflict)))


@contextmanager
def _of_this_option() -> Generator[None]:
    # Its key has the form of a gate's.
    try:
        yield
    except InvalidRequest as error:
        raise InvalidRequest(OPTION, error.problem, allowed=error.allowed) from None


def _scope(said: dict[object, object]) -> Until | int:
    if "seconds" in said:
        seconds = said["seconds"]
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not 0.001 <= cast("float", seconds) <= MAX_SECONDS:
            raise InvalidRequest(OPTION, f"seconds is {shown(seconds)}", allowed=f"0.001 to {MAX_SECONDS}")
        return int(cast("float", seconds) * 1000)
    until = said.get("until", Until.STARTED)
    if until not in list(Until):
        raise InvalidRequest(OPTION, f"until is {shown(until)}", allowed=", ".join(Until))
    return Until(cast("str", until))


def of_actor(value: object, signature: inspect.Signature, actor_name: str, *, runs_events: bool) -> UniqueKey | None:
    """Return what an actor's option says.

    Raises:
        InvalidRequest: If it is not allowed, or its key names an argument that the actor does not have.
    """
    unique = read_unique(value)
    if unique is not None:
        if runs_events:
            raise InvalidRequest(OPTION, f"actor {actor_name} runs events", allowed="on actors with arguments")
        with _of_this_option():
            check_fields(unique.key, signature, actor_name)
    return unique


def of_message(
    unique: UniqueKey | None, signature: inspect.Signature, actor_name: str, message: "Message[Any]"
) -> UniqueKey | None:
    """Return the unique key of one message, filled: its own, else its actor's (`unique`); None for none.

    Raises:
        InvalidRequest: If its option is not allowed, or an argument cannot be part of a key.
    """
    if OPTION in message.options:
        unique = read_unique(message.options[OPTION])
    if unique is None:
        return None
    with _of_this_option():
        (key,) = filled((unique.key,), signature, actor_name, message)
    return UniqueKey(key, unique.scope, unique.on_conflict)
