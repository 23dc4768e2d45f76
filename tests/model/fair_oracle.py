"""The naive model of fair lanes: the tag of each key of a lane and band, while something of it waits."""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from model.execution import Execution

STEP_MS: Final = 1 / 1024
"""Between two scores."""
TAG_MS: Final = 1_024
"""Between two tags of weight 1."""


@dataclass(slots=True)
class Band:
    """What is known of one band of a fair lane, until nothing that was counted waits there."""

    at: float
    """The tag at which a key begins."""
    base: float
    """What has a lower tag was there before, and is not counted."""
    last: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    admitted: dict[str, float] = field(default_factory=lambda: defaultdict[str, float](float))
    waiting: dict[str, str] = field(default_factory=dict[str, str])
    """Execution → key."""

    def waits(self, key: str) -> int:
        """How many of a key are counted."""
        return list(self.waiting.values()).count(key)


class Fair:
    """The shares of all lanes."""

    def __init__(self) -> None:
        self.kinds: dict[str, str] = {}
        """Lane → the kind of gates by which it is fair."""
        self.chosen: set[str] = set()
        """Lanes of which somebody has said how they are, strict order too."""
        self.weights: dict[str, int] = {}
        self.bands: dict[tuple[str, int], Band] = {}
        self.passed: dict[tuple[str, int], float] = {}
        """Where nothing that was counted waits: the highest tag, if it was ahead of the clock."""

    def share(self, lane: str, kind: str | None) -> None:
        """The lane is fair by another kind, or strict."""
        self.chosen.add(lane)
        if self.kinds.get(lane) == kind:
            return
        self.bands = {place: band for place, band in self.bands.items() if place[0] != lane}
        self.passed = {place: tag for place, tag in self.passed.items() if place[0] != lane}
        if kind is None:
            del self.kinds[lane]
        else:
            self.kinds[lane] = kind

    def key_of(self, execution: Execution) -> str:
        """Its first gate of the lane's kind; the kind, if it passes none."""
        kind = self.kinds[execution.lane]
        return next((gate for gate in execution.gates if gate.startswith(f"{kind}:")), kind)

    def place(self, execution: Execution, time: float, now: int, others: list[Execution]) -> None:
        """Give it its place in its band; `others`: what waits in its lane."""
        if execution.lane not in self.kinds:
            execution.accepted_at = time
            return
        place, key = (execution.lane, execution.band), self.key_of(execution)
        if place not in self.bands:
            own = [e.accepted_at for e in others if e.band == execution.band]
            begin = max(now, *own, self.passed.pop(place, 0)) + STEP_MS
            self.bands[place] = Band(begin, begin)
        band = self.bands[place]
        wanted = band.last[key] + math.floor(TAG_MS / STEP_MS / self.weights.get(key, 1)) * STEP_MS
        tag = self._free(execution, max(wanted, band.at), others)
        if wanted <= band.at:
            band.at = tag + STEP_MS
        band.last[key], band.waiting[execution.execution_id] = tag, key
        execution.accepted_at, execution.time = tag, time

    def place_again(self, execution: Execution, others: list[Execution]) -> None:
        """It comes back at its old place."""
        if execution.lane not in self.kinds:
            return
        band = self.bands.get((execution.lane, execution.band))
        is_of_earlier = band is not None and execution.accepted_at >= band.at
        wanted = band.base - TAG_MS if band is not None and is_of_earlier else execution.accepted_at
        tag = execution.accepted_at = self._free(execution, wanted, others)
        execution.time = tag if execution.time is None else execution.time
        if band is not None and tag >= band.base:
            band.waiting[execution.execution_id] = self.key_of(execution)

    def leave(self, execution: Execution, now: int, *, is_granted: bool = False) -> None:
        """It waits no longer."""
        place = (execution.lane, execution.band)
        band = self.bands.get(place)
        if band is None or execution.execution_id not in band.waiting:
            return
        key = band.waiting.pop(execution.execution_id)
        if is_granted:
            band.at = max(band.at, execution.accepted_at + STEP_MS)
            band.admitted[key] = max(band.admitted[key], execution.accepted_at)
        if not band.waits(key):
            band.last[key] = band.admitted[key]
        if not band.waiting:
            del self.bands[place]
            if band.at > now:
                self.passed[place] = band.at

    @staticmethod
    def _free(execution: Execution, tag: float, others: list[Execution]) -> float:
        taken = {e.score for e in others if e is not execution}
        base = execution.score - execution.accepted_at
        while base + tag in taken:
            tag += STEP_MS
        return tag

    def claim(self, execution: Execution) -> tuple[int, float]:
        """What its lane claims beside others if it comes next; the lower goes first."""
        by_time = execution.lane in self.kinds and execution.time is not None
        return execution.band, execution.time if by_time and execution.time is not None else execution.accepted_at

    def shares(self) -> dict[tuple[str, int], dict[str, tuple[float, ...]]]:
        """As Redis has them: for the band where a key begins and the base, for each key with waiters its figures."""
        return {
            place: {"": (band.at, band.base)}
            | {key: (band.last[key], band.admitted[key], band.waits(key)) for key in set(band.waiting.values())}
            for place, band in self.bands.items()
        } | {place: {"": (tag,)} for place, tag in self.passed.items()}
