"""Reads all lanes with their figures, for `status` of the command line and the API's list of lanes.

In the flow: reads only. Lanes are read page by page, so the figures of many are some milliseconds apart.
"""

from typing import Final

from .overview import LaneLoad
from .queue import ExecutionQueueService
from .views import QueueStatus

READ_A_CALL: Final = 100
"""How many lanes one call reads; their figures are of the same moment."""


def all_lanes(queue: ExecutionQueueService) -> list[tuple[LaneLoad, QueueStatus]]:
    """Return every lane that was ever in use, and the queue's own, with their figures."""
    loads = queue.overview.lanes()
    if queue.lane not in {each.lane for each in loads}:
        loads.append(LaneLoad(queue.lane, None, 0, queue.shares.kind_of(queue.lane)))
    figures: list[QueueStatus] = []
    for start in range(0, len(loads), READ_A_CALL):
        figures += queue.views.status_of([each.lane for each in loads[start : start + READ_A_CALL]])
    return list(zip(loads, figures, strict=True))
