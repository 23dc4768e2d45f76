"""The limits and rates that actors declare, such as ``limits={"tenant:{tenant}": "2; 100/m"}`` or
``limits={"crm": "auto(2,50)"}``; they hold where no operator set one.

In the flow: checked when the actor is declared. A worker tells them to the server before its first admission; they
replace what its queues declared before. If it dies before that, it has admitted nothing. Pure functions.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from ...scheduler.model.auto import Auto
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import RESERVED_LANES
from ...scheduler.model.limits import check_limit, check_limit_of, check_limited, kind_of
from ...scheduler.model.rates import Rate

T = TypeVar("T")

OPTION: Final = "limits"
ALLOWED: Final = "a number like 2, a rate like 100/m, both like '2; 100/m', or a limit that adjusts itself: auto(2,50)"


@dataclass(frozen=True, slots=True)
class Declared:
    """What an actor declares, by gate or kind."""

    limits: Mapping[str, int | Auto]
    rates: Mapping[str, Rate]


def read_limits(value: object, action: str, gates: tuple[str, ...]) -> Declared:
    """Read an actor's limits and rates; `tenant:{tenant}` means the kind `tenant:*`.

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
    limits: dict[str, int | Auto] = {}
    rates: dict[str, Rate] = {}
    for gate, given in cast("dict[object, object]", value).items():
        if gate not in passed:
            raise InvalidRequest(OPTION, f"{shown(gate)} is no gate of this actor", allowed=", ".join(sorted(passed)))
        name = _name_of(str(gate))
        for limit in _parts_of(str(gate), given):
            if isinstance(limit, Auto):
                check_limit_of(name, limit)
            kept: Any = rates if isinstance(limit, Rate) else limits
            if kept.setdefault(name, limit) != limit:
                raise InvalidRequest(OPTION, f"{kept[name]} and {limit} for {name}", allowed="one limit for each kind")
    return Declared(limits, rates)


def _parts_of(gate: str, given: object) -> Iterator[int | Auto | Rate]:
    """The limit and the rate of a text such as `2; 100/m`; a whole number is a limit, and so is `auto(2,50)`."""
    for part in [part.strip() for part in given.split(";")] if isinstance(given, str) else [given]:
        try:
            yield _read(part)
        except InvalidRequest as error:
            raise InvalidRequest(f"{OPTION} of {gate}", error.problem, allowed=error.allowed) from None


def _read(part: object) -> int | Auto | Rate:
    if not isinstance(part, str) or part.isdecimal():
        limit = int(part) if isinstance(part, str) else part
        check_limit(OPTION, limit)
        return cast("int", limit)
    if part.startswith("auto"):
        return Auto.read(part)
    if "/" in part:
        return Rate.read(part)
    raise InvalidRequest(OPTION, f"{shown(part)} is neither a limit nor a rate", allowed=ALLOWED)


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


def check_agreement(actor_name: str, declared: Declared, others: Mapping[str, Declared]) -> None:
    """Check that no two actors declare different limits or rates for the same gate or kind.

    Args:
        actor_name: The actor that is being declared.
        declared: What it declares.
        others: What each other actor declares, by its name.

    Raises:
        InvalidRequest: If they differ.
    """
    for other, theirs in others.items():
        if other != actor_name:
            _compare(actor_name, declared.limits, other, theirs.limits)
            _compare(actor_name, declared.rates, other, theirs.rates)


def _compare(actor_name: str, own: Mapping[str, object], other: str, theirs: Mapping[str, object]) -> None:
    for name in own.keys() & theirs.keys():
        if own[name] != theirs[name]:
            raise InvalidRequest(
                OPTION,
                f"{own[name]} for {name} by actor {actor_name}, but {theirs[name]} by actor {other}",
                allowed="the same limit wherever it is declared",
            )


def by_lane(queues: Iterable[str], actors: Iterable[tuple[str, Mapping[str, T]]]) -> dict[str, dict[str, T]]:
    """Return all declared limits, or rates, by lane; a queue whose actors declare nothing has an empty entry.

    Args:
        queues: All declared queues.
        actors: The lane, and the limits or rates, of each gated actor.
    """
    declared: dict[str, dict[str, T]] = {queue: {} for queue in queues if queue not in RESERVED_LANES}
    for lane, limits in actors:
        declared.setdefault(lane, {}).update(limits)
    return declared
