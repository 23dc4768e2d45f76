"""Calls about limits, rates, pauses and settings, and who changed what. In the flow: see the package."""

from datetime import datetime

from ...answers.controls import Audit, Changed, Limits, OneLimit, OneRate, OneSetting, Pauses, Rates, Settings
from ..call import V1, Call, between, changing, given, named


def limits() -> Call[Limits]:
    """All limits."""
    return Call("GET", f"{V1}/limits", Limits)


def limit(gate: str) -> Call[OneLimit]:
    """The limit that holds for a gate."""
    return Call("GET", named("limits", gate), OneLimit)


def set_limit(gate: str, limit: int | None, auto: str | None = None) -> Call[OneLimit]:
    """Set or lift a limit; `auto`, such as `auto(2,50)`: it begins with this one, and adjusts itself."""
    body = None if limit is None else {"limit": limit} | given(auto=auto)
    return changing(named("limits", gate), OneLimit, body)


def rates() -> Call[Rates]:
    """All rates."""
    return Call("GET", f"{V1}/rates", Rates)


def rate(gate: str) -> Call[OneRate]:
    """The rate that holds for a gate."""
    return Call("GET", named("rates", gate), OneRate)


def set_rate(gate: str, rate: str | None) -> Call[OneRate]:
    """Set or lift a rate, such as `100/m burst 5`."""
    return changing(named("rates", gate), OneRate, None if rate is None else {"rate": rate})


def paused() -> Call[Pauses]:
    """What is paused."""
    return Call("GET", f"{V1}/pauses", Pauses)


def pause(name: str) -> Call[Changed]:
    """Begin a pause."""
    return Call("PUT", named("pauses", name), Changed)


def resume(name: str) -> Call[Changed]:
    """End a pause."""
    return Call("DELETE", named("pauses", name), Changed)


def settings(lane: str | None = None) -> Call[Settings]:
    """The runtime settings."""
    return Call("GET", f"{V1}/settings", Settings, query=given(lane=lane))


def setting(name: str, lane: str | None = None) -> Call[OneSetting]:
    """A runtime setting; of a lane, if it is one of a lane."""
    return Call("GET", named("settings", name), OneSetting, query=given(lane=lane))


def change_setting(name: str, value: int | None, lane: str | None, expected: float | str | None) -> Call[OneSetting]:
    """Change a runtime setting; `expected`, the value that was seen, ``*`` for any, None for no bound."""
    path, query, match = named("settings", name), given(lane=lane), _match(expected)
    return Call("PUT", path, OneSetting, query=query, body={"value": value}, headers=match)


def reset_setting(name: str, lane: str | None, expected: float | str | None) -> Call[OneSetting]:
    """Let a runtime setting have its default again; `expected` as for `change_setting`."""
    return Call("DELETE", named("settings", name), OneSetting, query=given(lane=lane), headers=_match(expected))


def _match(expected: float | str | None) -> dict[str, str]:
    seen = "none" if expected is None else expected if isinstance(expected, str) else f"{expected:.15g}"
    return {"If-Match": seen if seen == "*" else f'"{seen}"'}


def audit(
    subject: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
    *,
    kind: str | list[str] | None = None,
    verb: str | list[str] | None = None,
    who: str | None = None,
    changed_from: datetime | None = None,
    changed_to: datetime | None = None,
) -> Call[Audit]:
    """Who changed what."""
    query = given(subject=subject, kind=kind, verb=verb, who=who, cursor=cursor, limit=limit) | between(
        changed_from, changed_to
    )
    return Call("GET", f"{V1}/audit", Audit, query=query)
