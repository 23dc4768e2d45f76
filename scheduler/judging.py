"""Judges a queue: reads what the verdicts on it need, in a few round trips, and says what is to be looked at.

In the flow: the command line and the API ask here. Reads only; what the ledger tells is judged by who reads it.
"""

from collections.abc import Sequence
from typing import Final

from .ages import Ages
from .gate_loads import GateLoad
from .model.limits import is_kind
from .queue import ExecutionQueueService
from .verdicts import DEAD_LETTERS_SECONDS, Verdict, on_action, on_installation, on_lane
from .views import QueueStatus

_OF_ACTION: Final = "action:"
ACTIONS_JUDGED: Final = 10


def judged_lanes(queue: ExecutionQueueService, lanes: Sequence[QueueStatus]) -> list[Verdict]:
    """Return what there is to say of these lanes, whose figures were read before, and of the whole installation.

    Raises:
        QueueUnavailable: If the server does not answer.
    """
    ages, paused = Ages(queue.scripts), set(queue.controls.paused())
    found = list(
        on_installation(
            leads=queue.views.leader() is not None, dead_lettered=ages.dead_lettered(DEAD_LETTERS_SECONDS * 1000)
        )
    )
    for status, of_lane in zip(lanes, ages.of(lanes), strict=True):
        found += on_lane(status, of_lane, paused)
    return found


def judged_actions(queue: ExecutionQueueService, actions: Sequence[str]) -> list[Verdict]:
    """Return what there is to say of these actions.

    Raises:
        QueueUnavailable: If the server does not answer.
    """
    now_ms, paused = queue.views.server_time_ms(), set(queue.controls.paused())
    found: list[Verdict] = []
    for each in actions:
        held = queue.gates.held_by_rate(f"{_OF_ACTION}{each}")
        found += on_action(each, queue.action_statistics(each), now_ms, paused, held and held.rate)
    return found


def foremost_actions(gates: Sequence[GateLoad]) -> list[str]:
    """Return those actions whose own limit or rate holds most back, a few at most, of gates in their order."""
    holding = (each for each in gates if each.limit is not None or each.rate is not None)
    held_back = (each.gate for each in holding if each.waiting and each.gate.startswith(_OF_ACTION))
    return [gate.removeprefix(_OF_ACTION) for gate in held_back if not is_kind(gate)][:ACTIONS_JUDGED]
