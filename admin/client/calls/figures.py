"""Calls about actions, users, gates and lanes, with their figures. In the flow: see the package."""

from datetime import datetime

from ...answers.document import Nothing
from ...answers.figures import Actions, DemandAnswer, Gates, Lanes, QueueStats, Users
from ...answers.shards import ShardsAnswer
from ...answers.wait_sums import WaitSums
from ...answers.workers import WorkersAnswer
from ..call import V1, Call, between, given, named


def actions() -> Call[Actions]:
    """All actions."""
    return Call("GET", f"{V1}/actions", Actions)


def drop_action(action: str) -> Call[Nothing]:
    """Forget the figures of an unused action."""
    return Call("DELETE", named("actions", action), Nothing)


def queue_stats(action: str) -> Call[QueueStats]:
    """The queue of an action."""
    return Call("GET", named("actions", action) + "/queue-stats", QueueStats)


def users() -> Call[Users]:
    """Users with executions that wait."""
    return Call("GET", f"{V1}/users", Users)


def gates() -> Call[Gates]:
    """Gates, the most blocked first."""
    return Call("GET", f"{V1}/gates", Gates)


def lanes() -> Call[Lanes]:
    """Lanes, and who works."""
    return Call("GET", f"{V1}/lanes", Lanes)


def demand(lane: str) -> Call[DemandAnswer]:
    """How many threads a lane could keep busy."""
    return Call("GET", named("lanes", lane) + "/demand", DemandAnswer)


def waited(
    by: str = "action", *, ended_from: datetime | None = None, ended_to: datetime | None = None
) -> Call[WaitSums]:
    """What executions waited for, by `action`, `user` or `gate`."""
    return Call("GET", f"{V1}/waits", WaitSums, query=given(by=by) | between(ended_from, ended_to))


def workers() -> Call[WorkersAnswer]:
    """Worker processes, and what they do."""
    return Call("GET", f"{V1}/workers", WorkersAnswer)


def shards() -> Call[ShardsAnswer]:
    """All shards, with their figures or why they are away."""
    return Call("GET", f"{V1}/shards", ShardsAnswer)
