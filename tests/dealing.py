"""A deck of what may be done in a chaos run: each kind comes as often as its cards, whatever the chances.

It is shuffled anew when it has been dealt, so a short run has all kinds as well.
"""

import random
from collections.abc import Callable, Mapping

Cards = Mapping[str, tuple[int, Callable[[], bool]]]
"""Kind → how many cards of a deck, and what is done; that answers False if it found nothing to do it to."""


class Deck:
    """Deals one card at a time."""

    def __init__(self, kinds: Cards, chance: random.Random) -> None:
        self._kinds = kinds
        self._chance = chance
        self._left: list[str] = []

    def deal(self) -> tuple[str, Callable[[], bool]]:
        """The next card."""
        if not self._left:
            self._left = [kind for kind, (cards, _) in self._kinds.items() for _ in range(cards)]
            self._chance.shuffle(self._left)
        kind = self._left.pop()
        return kind, self._kinds[kind][1]
