"""Calls about actions, users, gates and lanes, with their figures. In the flow: see the package."""

from ...answers.document import Nothing
from ...answers.figures import Actions, DemandAnswer, Gates, Lanes, QueueStats, Users
from ...answers.workers import WorkersAnswer
from ..call import V1, Call, named


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


def workers() -> Call[WorkersAnswer]:
    """Worker processes, and what they do."""
    return Call("GET", f"{V1}/workers", WorkersAnswer)
