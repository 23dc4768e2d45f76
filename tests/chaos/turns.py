"""The bound of a fair lane: of two keys of one band that both have something waiting all along, neither gets more than
one start (by weight) ahead of the other.

Of what comes back in its old place (its worker died) only the first start counts: it goes before all others. What is
cancelled, expires or is moved while others of its key wait leaves a gap: its key has given up that turn.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations

from chaos.found import Found, Kind

AHEAD = 1.0
_ROUNDED = 1e-6


class Turns:
    """Of one lane."""

    def __init__(self, found: Found, weights: Mapping[str, int]) -> None:
        self._found = found
        self._weights = weights
        self._new: defaultdict[int, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """By band and key, what waits in a new place."""
        self._again: defaultdict[int, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """The same, in its old one."""
        self._got: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._gaps: defaultdict[int, Counter[str]] = defaultdict(Counter)
        """Turns that were given up since something of the key waits."""
        self._since: dict[tuple[int, str, str], tuple[int, int]] = {}

    def wait(self, name: str, band: int, key: str, *, is_new: bool) -> None:
        """It waits, in a new place or in its old one."""
        (self._new if is_new else self._again)[band][key].add(name)
        self._compare(name, band)

    def leave(self, name: str, band: int, key: str, *, started: bool) -> None:
        """It waits no longer."""
        new, again = self._new[band][key], self._again[band][key]
        counts = name in new
        if counts and started:
            self._got[band][key] += 1
            self._compare(name, band)  # while it still counts as waiting: it was, when this was decided
        elif not started:
            self._gaps[band][key] += 1
        new.discard(name)
        again.discard(name)
        if not new and not again:
            self._gaps[band][key] = 0
        self._compare(name, band)

    def _compare(self, name: str, band: int) -> None:
        waiting, got = self._new[band], self._got[band]
        for one, other in combinations(sorted(waiting), 2):
            pair = (band, one, other)
            if not (waiting[one] and waiting[other]):
                self._since.pop(pair, None)
                continue
            began = self._since.setdefault(pair, (got[one], got[other]))
            ahead = max(
                self._work(band, one, began[0]) - self._work(band, other, began[1], most=True),
                self._work(band, other, began[1]) - self._work(band, one, began[0], most=True),
            )
            is_fair = ahead <= AHEAD + _ROUNDED
            self._found.unless(
                is_fair, Kind.TURNS, f"{name}: {one} and {other} are {ahead:.1f} starts apart in band {band}"
            )
            if not is_fair:
                self._since[pair] = (got[one], got[other])

    def _work(self, band: int, key: str, began: int, *, most: bool = False) -> float:
        """What a key got since, by its weight; `most`: with the turns that it gave up."""
        starts = self._got[band][key] - began + (self._gaps[band][key] if most else 0)
        return starts / self._weights.get(key, 1)
