"""Gate keys as templates over an actor's arguments: ``"tenant:{tenant}"``.

In the flow: checked when the actor is declared or the message is sent, filled when the message is parked. Pure
functions.
"""

import inspect
import string
from collections.abc import Sequence
from typing import Any, Final, cast

from dramatiq import Message

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import as_part_of_key, check_gate_key

MAX_GATES: Final = 8


def check_gates(value: object) -> tuple[str, ...]:
    """Return the value, if it is a list of gate keys or of templates for them; else raise InvalidRequest."""
    if not isinstance(value, list | tuple):
        raise InvalidRequest("gates", f"{shown(value)} is no list of gates", allowed='a list like ["tenant:{tenant}"]')
    gates = tuple(cast("Sequence[object]", value))
    if len(gates) > MAX_GATES:
        raise InvalidRequest("gates", f"{len(gates)} gates", allowed=f"at most {MAX_GATES}")
    return tuple(gate if isinstance(gate, str) and "{" in gate else check_gate_key(gate) for gate in gates)


def fields_of(template: str) -> list[str]:
    """Return the arguments that a template names.

    Raises:
        InvalidRequest: If it is not a template, or a name in it cannot be an argument's name.
    """
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as error:
        raise InvalidRequest("gates", f"{shown(template)} is no template: {error}") from None
    for field in fields:
        if not field.isidentifier():
            raise InvalidRequest("gates", f"{shown(template)} names {shown(field)}", allowed="{argument}")
    return fields


def check_fields(template: str, signature: inspect.Signature, actor_name: str) -> None:
    """Check that an actor has the arguments that a template names.

    Raises:
        InvalidRequest: If one is missing.
    """
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    for field in fields_of(template):
        if field not in signature.parameters and not takes_any:
            raise InvalidRequest(
                "gates",
                f"{shown(template)} names {shown(field)}, which is no argument of actor {actor_name}",
                allowed=", ".join(signature.parameters) or "no template, for it has no arguments",
            )


def filled(
    templates: tuple[str, ...], signature: inspect.Signature, actor_name: str, message: "Message[Any]"
) -> tuple[str, ...]:
    """Return the gate keys of one message, each once.

    Raises:
        InvalidRequest: If the arguments do not match the actor's, or one cannot be part of a key.
    """
    if not templates:
        return ()
    if not any("{" in template for template in templates):
        return tuple(dict.fromkeys(templates))
    arguments = _arguments(signature, actor_name, message)
    keys: dict[str, None] = {}
    for template in templates:
        try:
            keys[_filled(template, arguments)] = None
        except InvalidRequest:
            check_fields(template, signature, actor_name)  # a message's own template may name what is no argument
            raise
    return tuple(keys)


def _arguments(signature: inspect.Signature, actor_name: str, message: "Message[Any]") -> dict[str, Any]:
    try:
        bound = signature.bind(*message.args, **message.kwargs)
    except TypeError as error:
        raise InvalidRequest("arguments", f"of actor {actor_name}: {error}") from None
    bound.apply_defaults()
    arguments: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        value: Any = bound.arguments.get(parameter.name)
        arguments.update(value if parameter.kind is parameter.VAR_KEYWORD else {parameter.name: value})
    return arguments


def _filled(template: str, arguments: dict[str, Any]) -> str:
    fitting = dict(arguments)
    for field in fields_of(template):
        value: object = arguments.get(field)
        if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
            raise InvalidRequest(
                "gates",
                f"{shown(template)} needs argument {field}, which is {shown(value)}",
                allowed="a text or a whole number",
            )
        if isinstance(value, str):
            fitting[field] = as_part_of_key(value)
    try:
        return check_gate_key(template.format_map(fitting))
    except ValueError as error:
        if isinstance(error, InvalidRequest):
            raise
        raise InvalidRequest("gates", f"{shown(template)} cannot be filled: {error}") from None
