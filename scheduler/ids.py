"""``Ids``: the ids of executions that wait, are scheduled or hold a slot, in any lane.

In the flow: whoever lists executions, or looks for one, reads these, and then the records. Lists that may be long are
read page by page, as far as somebody asks: the head of a long queue costs no more than that of a short one. A queue
moves on meanwhile. A page begins behind the last score that was read, not after a number of ids: what leaves the list
puts nothing past the reader. What is moved towards the end may come a second time.
"""

import heapq
from collections.abc import Iterator
from typing import Final

from .overview import Overview
from .transport.reading import Reader, repeated
from .transport.scripts import Scripts

READ_A_TRIP: Final = 1_000
_BEGINNING: Final = float("-inf")

_Place = tuple[float, str]
"""A score, and the id that has it."""


class Ids(Reader):
    """Reads the ids from one server. Each method, and each step of an iterator, raises QueueUnavailable if the server
    does not answer.
    """

    def __init__(self, scripts: Scripts, overview: Overview) -> None:
        """Args: `overview`, which knows the lanes."""
        super().__init__(scripts)
        self._keys = scripts.keys
        self._overview = overview

    def waiting(self) -> Iterator[str]:
        """Those that wait, in the order of their scores."""
        return self._merged([self._keys.pending(lane) for lane in self._overview.lane_names()])

    def scheduled(self) -> Iterator[str]:
        """Those that are not yet due, the next first."""
        return self._merged([self._keys.named("scheduled")])

    @repeated
    def active(self) -> list[str]:
        """Those that hold a slot, in no order."""
        pipeline = self._client.pipeline(transaction=False)
        for lane in self._overview.lane_names():
            pipeline.smembers(self._keys.active(lane))
        return [raw.decode() for members in pipeline.execute() for raw in members]

    def _merged(self, keys: list[str]) -> Iterator[str]:
        pages = self._pages(keys, _BEGINNING, READ_A_TRIP)
        places = heapq.merge(*(self._from(page, key) for page, key in zip(pages, keys, strict=True)))
        return (execution_id for _, execution_id in places)

    def _from(self, page: list[_Place], key: str) -> Iterator[_Place]:
        """The places of a list, from a page of it on."""
        read: set[_Place] = set()
        while True:
            yield from page
            if len(page) < READ_A_TRIP:
                return
            score = page[-1][0]
            # Several may have one score: the next page begins with it once more, and is longer by those read already.
            read = {place for place in (*read, *page) if place[0] == score}
            (found,) = self._pages([key], score, READ_A_TRIP + len(read))
            page = [place for place in found if place not in read]

    @repeated
    def _pages(self, keys: list[str], score: float, most: int) -> list[list[_Place]]:
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.zrangebyscore(key, score, "+inf", start=0, num=most, withscores=True)
        return [[(at, raw.decode()) for raw, at in page] for page in pipeline.execute()]
