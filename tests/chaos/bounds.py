"""What was in force when something was granted, by the journal: limits of gates, bounds of lanes, pauses, rates.

A rate is held to what it allows from a full burst on, at its last change or when the clock was set back: no more can be
right, whatever came before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

from bandmaster.scheduler.engine.journal import JournalEntry, Verb
from bandmaster.scheduler.model.limits import kind_of
from bandmaster.scheduler.model.rates import Rate
from chaos.found import Found, Kind

T = TypeVar("T")
ROUNDED_MS = 2
"""Times of the journal are whole milliseconds."""
_AT_ONCE = "max_concurrent_executions"
_OVER_EVERYTHING = "max_concurrent"


class Bounds:
    """Follows operators' changes, and who holds what."""

    def __init__(self, found: Found) -> None:
        self.held = Counter[str]()
        """By gate; a lane under `lane:NAME`, all under the empty name."""
        self._found = found
        self._limits: dict[str, int] = {}
        self._settings: dict[str, int] = {}
        self._paused: set[str] = set()
        self._rates: dict[str, Rate] = {}
        self._times_ms: dict[str, float] = {}
        self._granted_at_ms = 0

    def change(self, entry: JournalEntry) -> None:
        """An operator's change."""
        name, value = entry.fields.get("name", ""), entry.fields.get("to", "")
        match entry.verb:
            case Verb.LIMIT:
                _put(self._limits, name, int(value) if value else None)
            case Verb.SET if name.endswith((_AT_ONCE, _OVER_EVERYTHING)):
                _put(self._settings, name, int(float(value)) if value else None)
            case Verb.RATE:
                _put(self._rates, name, Rate.from_stored(value) if value else None)
                self._times_ms = {gate: at for gate, at in self._times_ms.items() if name not in (gate, kind_of(gate))}
            case Verb.PAUSE:
                self._paused.add(name)
            case Verb.RESUME:
                self._paused.discard(name)
            case _:
                pass

    def grant(self, name: str, lane: str, gates: Sequence[str], at_ms: int) -> None:
        """Something is granted: is it allowed?"""
        for each in ("*", f"lane:{lane}", *gates):
            self._found.unless(each not in self._paused, Kind.PAUSE, f"{name}, though {each} is paused")
        for each, limit in self._bounding(lane, gates):
            held = self.held[each]
            self._found.unless(held < limit, Kind.LIMIT, f"{name}, though {held} of {limit} hold {each or 'a slot'}")
        if at_ms < self._granted_at_ms:
            self._times_ms.clear()  # the clock was set back: a rate counts anew from there
        self._granted_at_ms = at_ms
        for gate in gates:
            self._spend(name, gate, at_ms)
        self.held.update(("", f"lane:{lane}", *gates))

    def give_back(self, lane: str, gates: Sequence[str]) -> None:
        """Its slot and its gates are free."""
        self.held.subtract(("", f"lane:{lane}", *gates))

    def is_open_for_sure(self, lane: str, gates: Sequence[str]) -> bool:
        """Whether nothing holds up who passes these gates; one with a rate might."""
        if any(self._rate_of(gate) for gate in gates) or self._paused & {"*", f"lane:{lane}", *gates}:
            return False
        return all(self.held[each] < limit for each, limit in self._bounding(lane, gates))

    def _bounding(self, lane: str, gates: Sequence[str]) -> Iterator[tuple[str, int]]:
        if _OVER_EVERYTHING in self._settings:
            yield "", self._settings[_OVER_EVERYTHING]
        of_lane = self._settings.get(f"lane:{lane}:{_AT_ONCE}")
        if of_lane is not None:
            yield f"lane:{lane}", of_lane
        for gate in gates:
            limit = self._limits.get(gate, self._limits.get(kind_of(gate) or ""))
            if limit is not None:
                yield gate, limit

    def _rate_of(self, gate: str) -> Rate | None:
        return self._rates.get(gate) or self._rates.get(kind_of(gate) or "")

    def _spend(self, name: str, gate: str, at_ms: int) -> None:
        rate = self._rate_of(gate)
        if rate is None:
            return
        time_ms = max(float(at_ms), self._times_ms.get(gate, 0.0))
        ahead_ms = time_ms - (rate.burst - 1) * rate.interval_ms - at_ms
        self._found.unless(ahead_ms <= ROUNDED_MS, Kind.RATE, f"{name}: {gate} {ahead_ms:.0f} ms before {rate} allows")
        self._times_ms[gate] = time_ms + rate.interval_ms


def _put(into: dict[str, T], name: str, value: T | None) -> None:
    into.pop(name, None)
    if value is not None:
        into[name] = value
