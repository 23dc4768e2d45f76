"""``Engine``: one queue on one server, built once and shared by everything in the process that works with it.

In the flow: the broker and its middleware, the actors and the command line use one. Each of its parts is one group of
operations on the queue; none of them keeps state that another part would need.
"""

from copy import copy
from typing import Self

from ..keys import DEFAULT_LANE
from ..model.identifiers import check_lane
from ..transport.scripts import Scripts
from ..views import Views
from .controls import Controls
from .journal import Journal
from .maintenance import Maintenance
from .outbox import Outbox
from .shares import Shares
from .transitions import Transitions


class Engine:
    """Every transition and every read of one queue. Safe to share between threads and across forks."""

    def __init__(self, scripts: Scripts, *, lane: str = DEFAULT_LANE, by: str | None = None) -> None:
        """Makes no call.

        Args:
            scripts: The scripts of the server.
            lane: The lane whose bounds `controls` changes and whose executions `views` shows.
            by: The name in the journal for operator calls that give no `by`; None: user, host and program of this
                process.

        Raises:
            InvalidRequest: If the lane's name is not allowed.
        """
        self.lane = check_lane(lane)
        self.scripts = scripts
        self._by = by
        self.transitions = Transitions(scripts, by=by)
        self.controls = Controls(scripts, lane, by=by)
        self.shares = Shares(scripts, by=by)
        self.schedules = self.controls.schedules
        self.views = Views(scripts, lane)
        self.journal = Journal(scripts)
        self.maintenance = Maintenance(scripts)
        self.outbox = Outbox(scripts)

    def on(self, lane: str) -> Self:
        """Return this queue with another lane as its own."""
        other = copy(self)
        other.lane = check_lane(lane)
        other.controls = Controls(self.scripts, lane, by=self._by)
        other.views = Views(self.scripts, lane)
        return other

    def close(self) -> None:
        """Close the connections that are kept between calls. The client stays open; a later call opens new ones."""
        self.scripts.close()
