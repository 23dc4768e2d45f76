"""The bound of a fair lane: of two keys of one band that both have something waiting all along, neither gets more than
one start (by weight) ahead of the other.

Of what comes back in its old place (its worker died) only the first start counts: it goes before all others.
"""

from collections import defaultdict
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
        self._waiting: defaultdict[int, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._got: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._since: dict[tuple[int, str, str], tuple[int, int]] = {}

    def wait(self, name: str, band: int, key: str) -> None:
        """It waits in a new place."""
        self._waiting[band][key].add(name)
        self._compare(name, band)

    def leave(self, name: str, band: int, key: str, *, started: bool) -> None:
        """It waits no longer."""
        if name not in self._waiting[band][key]:
            return
        if started:
            self._got[band][key] += 1
            self._compare(name, band)  # while it still counts as waiting: it was, when this was decided
        self._waiting[band][key].discard(name)
        self._compare(name, band)

    def _compare(self, name: str, band: int) -> None:
        keys, got = sorted(self._waiting[band]), self._got[band]
        for one, other in combinations(keys, 2):
            pair = (band, one, other)
            if not (self._waiting[band][one] and self._waiting[band][other]):
                self._since.pop(pair, None)
                continue
            began = self._since.setdefault(pair, (got[one], got[other]))
            work = [(got[key] - at) / self._weights.get(key, 1) for key, at in zip((one, other), began, strict=True)]
            ahead = abs(work[0] - work[1])
            is_fair = ahead <= AHEAD + _ROUNDED
            said = f"{name}: {one} and {other} are {ahead:.1f} starts apart in band {band}"
            self._found.unless(is_fair, Kind.TURNS, said)
            if not is_fair:
                self._since[pair] = (got[one], got[other])
