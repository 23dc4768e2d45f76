"""Sets what an application says of its lanes: bounds, ``lanes={"emails": {"max_queue_size": 5_000}}``, and fair turns,
``{"fair_by": "user"}``.

In the flow: the first process that declares bounds writes them to Redis: before its first message to the lane, or when
a worker boots. This is repeated now and then, since a server may come back without them. All processes read the bounds
there, and an operator's changes stay. A lane without declared bounds has none. If the process dies here, the next one
writes them.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...configs.logger import Logger
from ...scheduler.engine.controls import BOUNDS, check_setting
from ...scheduler.engine.engine import Engine
from ...scheduler.engine.shares import FAIR_BY, check_kind
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.errors import InvalidRequest, shown
from ...scheduler.model.identifiers import check_lane
from ...scheduler.model.misspelt import allowed_of

log = Logger(__name__)
OF_LANES: Final = BOUNDS | {FAIR_BY}
"""What may be said of a lane."""
AGAIN_SECONDS: Final = 30.0
"""The time after which a lane's bounds are written again."""


class LaneBounds:
    """The bounds that one broker declares. Safe to share between threads."""

    def __init__(
        self, engine: Engine, lanes: Mapping[str, Mapping[str, int | str]], every: Mapping[str, int | None]
    ) -> None:
        """Check the bounds; nothing is written yet.

        Args:
            engine: The queue.
            lanes: Lane → bound → its value; `fair_by` → a kind of gates.
            every: Bound → its value, for each lane but `executions` that has no such bound in `lanes`; None: no bound.

        Raises:
            InvalidRequest: If a lane, a bound or a value is not allowed.
        """
        self._engine = engine
        if not isinstance(lanes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # as in _mapping
            allowed = 'a dict like {"emails": {"max_queue_size": 5_000}}'
            raise InvalidRequest("lanes", f"{shown(lanes)} is no mapping", allowed=allowed)
        self._lanes = {check_lane(lane): _checked(lane, bounds) for lane, bounds in lanes.items()}
        self._kinds = {lane: check_kind(said[FAIR_BY]) for lane, said in lanes.items() if FAIR_BY in said}
        self._every = _checked("every lane", {name: value for name, value in every.items() if value is not None})
        self._due: dict[str, float] = {}
        """Lane → when its bounds are written again, on the monotonic clock."""

    def put_down(self, lanes: Iterable[str]) -> None:
        """Set the bounds of some lanes where nobody has set any; once in `AGAIN_SECONDS` for each lane.

        Raises:
            QueueUnavailable: If Redis did not answer; the next call tries again.
        """
        for lane in lanes:
            if time.monotonic() < self._due.get(lane, 0.0):
                continue
            for name, value in self.of(lane).items():
                in_force = self._engine.controls.change_setting(name, value, lane=lane, only_if_unset=True)
                if in_force != value and lane not in self._due:
                    log.info("lane_bound_differs", lane=lane, name=name, declared=value, in_force=in_force)
            if (kind := self._kinds.get(lane)) is not None:
                self._engine.shares.share(lane, kind, only_if_unset=True)
            self._due[lane] = time.monotonic() + AGAIN_SECONDS

    def put_down_again(self, lanes: Iterable[str]) -> None:
        """Set the bounds of some lanes at once: the server has lost them.

        Raises:
            QueueUnavailable: If Redis did not answer; the next call tries again.
        """
        self._due.clear()
        self.put_down(lanes)

    def of(self, lane: str) -> dict[str, int]:
        """Return a lane's bounds: bound → its value."""
        every = {} if lane == DEFAULT_LANE else self._every
        return every | self._lanes.get(lane, {})


def _mapping(lane: str, said: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(said, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # an application may be untyped
        raise InvalidRequest("lanes", f"{shown(said)} of {lane} is no mapping", allowed=", ".join(sorted(OF_LANES)))
    return said


def _checked(lane: str, said: Mapping[str, Any]) -> dict[str, int]:
    bounds = {name: value for name, value in _mapping(lane, said).items() if name != FAIR_BY}
    for name, value in bounds.items():
        if name not in BOUNDS:
            raise InvalidRequest(
                "lanes", f"{shown(name)} is not a bound of a lane", allowed=allowed_of(str(name), OF_LANES)
            )
        if value is None:
            raise InvalidRequest(f"{name} of {lane}", "None is no bound", allowed="leave it out for none")
        check_setting(name, value)
    return bounds
