"""Sets limits, pauses, schedules and settings again as operators changed them last; processes declare theirs again.

In the flow: `rebuilding.py` calls it while everything is paused. A change that Redis has and that is later than the
ledger's stays, and so does what Redis may have changed later, and has forgotten when.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...scheduler.engine.engine import Engine
from ...scheduler.engine.journal import KEPT_CHANGES, Change, Verb
from ...scheduler.engine.shares import FAIR_BY, WEIGHT
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.auto import Adjusted, Auto
from ...scheduler.model.errors import InvalidRequest
from ...scheduler.model.limits import EVERYTHING
from ...scheduler.model.rates import Rate
from ..unrestored import REBUILD
from .history import LastChange

_LANE: Final = "lane:"
_FORGOTTEN: Final = "Redis has forgotten whether it was changed since; it stays as Redis has it"


def is_paused_by_operator(changes: Sequence[LastChange], engine: Engine) -> bool:
    """Whether an operator paused everything, and did not resume it; a rebuild that died does not count."""
    in_redis = engine.journal.changes()
    by_operators = [each for each in in_redis if each.by != REBUILD]
    found = [(each.at_ms, each.verb) for each in (*changes, *by_operators) if each.name == EVERYTHING]
    if not found:
        return False
    at_ms, verb = max(found, key=lambda each: each[0])
    is_forgotten = at_ms < _known_since_ms(in_redis) and all(each.name != EVERYTHING for each in in_redis)
    return EVERYTHING in engine.controls.paused() if is_forgotten else verb == Verb.PAUSE


def set_again(changes: Sequence[LastChange], engine: Engine) -> tuple[int, dict[str, str]]:
    """Make these changes again, unless Redis has a later one of the same name.

    Returns:
        How many were made, and why others were not: a setting may be one of another release.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    in_redis = engine.journal.changes()
    # The latest come first.
    last_ms = {(_kind(each.verb), each.name): each.at_ms for each in reversed(in_redis)}
    known_since_ms = _known_since_ms(in_redis)
    made, refused = 0, dict[str, str]()
    for change in changes:
        of_redis_ms = last_ms.get((_kind(change.verb), change.name))
        if change.name == EVERYTHING or (of_redis_ms or 0) > change.at_ms:
            continue
        if of_redis_ms is None and change.at_ms < known_since_ms:
            refused[f"{change.verb} {change.name}"] = _FORGOTTEN
            continue
        try:
            made += _make(change, engine)
        except InvalidRequest as error:
            refused[f"{change.verb} {change.name}"] = str(error)
    return made, refused


def _known_since_ms(in_redis: Sequence[Change]) -> int:
    """From when on Redis knows each change; the latest come first."""
    return in_redis[-1].at_ms if len(in_redis) >= KEPT_CHANGES else 0


def _kind(verb: str) -> str:
    return Verb.PAUSE if verb == Verb.RESUME else verb


def _make(change: LastChange, engine: Engine) -> bool:
    controls = engine.controls
    match change.verb:
        case Verb.LIMIT:
            controls.set_limit(change.name, _limit(change.value), by=REBUILD)
        case Verb.RATE:
            controls.rates.set(
                change.name, None if change.value is None else Rate.from_stored(change.value), by=REBUILD
            )
        case Verb.SCHEDULE:
            engine.schedules.set_again(change.name, change.value or None, by=REBUILD)
        case Verb.PAUSE:
            controls.pause(change.name, by=REBUILD)
        case Verb.RESUME:
            controls.resume(change.name, by=REBUILD)
        case Verb.SET if change.name.startswith(WEIGHT):
            weight = _whole(change.value)
            engine.shares.weigh(change.name.removeprefix(WEIGHT), None if weight == 1 else weight, by=REBUILD)
        case Verb.SET if change.name.rpartition(":")[2] == FAIR_BY:
            lane = change.name.removeprefix(_LANE).removesuffix(FAIR_BY).rstrip(":")
            engine.shares.share(lane or DEFAULT_LANE, change.value or None, by=REBUILD)
        case Verb.SET if change.name.startswith(_LANE):
            lane, _, name = change.name.removeprefix(_LANE).rpartition(":")
            controls.change_setting(name, _whole(change.value), lane=lane, by=REBUILD)
        case Verb.SET:
            controls.change_setting(change.name, _whole(change.value), by=REBUILD)
        case _:
            return False
    return True


def _limit(value: str | None) -> int | Auto | None:
    adjusted = None if value is None else Adjusted.from_journal(value)
    if adjusted is None:
        return _whole(value)
    # What adjusts itself and was declared is no operator's: there was none when it was adjusted.
    return None if adjusted.is_declared else replace(adjusted.auto, start=adjusted.now)


def _whole(value: str | None) -> int | None:
    return None if value is None else int(float(value))
