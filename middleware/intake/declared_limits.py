"""The limits that actors declare, such as ``limits={"tenant:{tenant}": 2}``; they hold where no operator set one.

In the flow: checked when the actor is declared. A worker tells them to the server before its first admission; they
replace what its queues declared before. If it dies before that, it has admitted nothing. Pure functions.
"""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import RESERVED_LANES
from ...scheduler.model.limits import check_limit, check_limited, kind_of

OPTION: Final = "limits"


def read_limits(value: object, action: str, gates: tuple[str, ...]) -> dict[str, int]:
    """Read an actor's limits, by gate or kind; `tenant:{tenant}` means the kind `tenant:*`.

    Args:
        value: The option.
        action: The actor's action.
        gates: The actor's gates, as they are declared.

    Raises:
        InvalidRequest: If the value is not allowed, or limits a gate that the actor does not pass.
    """
    if not isinstance(value, dict):
        raise InvalidRequest(OPTION, f"{shown(value)} is no dict", allowed='a dict like {"tenant:{tenant}": 2}')
    passed = {*gates, f"action:{action}", "action:*", "user:*", *filter(None, map(kind_of, gates))}
    limits: dict[str, int] = {}
    for gate, limit in cast("dict[object, object]", value).items():
        if gate not in passed:
            raise InvalidRequest(OPTION, f"{shown(gate)} is no gate of this actor", allowed=", ".join(sorted(passed)))
        check_limit(OPTION, limit)
        name = _name_of(str(gate))
        if limits.setdefault(name, cast("int", limit)) != limit:
            raise InvalidRequest(OPTION, f"{limits[name]} and {limit} for {name}", allowed="one limit for each kind")
    return limits


def _name_of(gate: str) -> str:
    literal, field, rest = gate.partition("{")
    if not field:
        return check_limited(gate)
    tail = rest.partition("}")[2]
    if kind_of(literal) != f"{literal}*" or tail:
        # A kind is the text before the first colon, so the limit would also hold for gates that it does not name.
        raise InvalidRequest(
            OPTION,
            f"{shown(gate)} is not a whole kind of gates",
            allowed="the limit of a gate without {…}, or of one like tenant:{tenant} or tenant-export:{tenant}",
        )
    return check_limited(f"{literal}*")


def check_agreement(actor_name: str, limits: Mapping[str, int], others: Mapping[str, Mapping[str, int]]) -> None:
    """Check that no two actors declare different limits for the same gate or kind.

    Args:
        actor_name: The actor that is being declared.
        limits: Its limits.
        others: The limits of each other actor, by its name.

    Raises:
        InvalidRequest: If limits differ.
    """
    for other, theirs in others.items():
        for name in limits.keys() & theirs.keys() if other != actor_name else ():
            if limits[name] != theirs[name]:
                raise InvalidRequest(
                    OPTION,
                    f"{limits[name]} for {name} by actor {actor_name}, but {theirs[name]} by actor {other}",
                    allowed="the same limit wherever it is declared",
                )


def by_lane(queues: Iterable[str], actors: Iterable[tuple[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Return all declared limits, by lane; a queue whose actors declare nothing has an empty entry.

    Args:
        queues: All declared queues.
        actors: The lane and the limits of each gated actor.
    """
    declared: dict[str, dict[str, int]] = {queue: {} for queue in queues if queue not in RESERVED_LANES}
    for lane, limits in actors:
        declared.setdefault(lane, {}).update(limits)
    return declared
