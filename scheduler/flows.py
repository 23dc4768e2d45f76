"""How many executions wait in the places where flows stand: a lane's ready set, or the set behind a gate.

In the flow: `overview.py` and `demand.py` count with it. A place holds flows and not executions, so each flow is
asked for its size, in a few round trips.
"""

from collections.abc import Sequence
from typing import Any, Final

from .keys import Keys

READ_A_TRIP: Final = 500


def count_in(client: Any, keys: Keys, places: Sequence[tuple[str, str]]) -> list[int]:
    """Count the executions in each place.

    Args:
        client: Of the server.
        keys: The queue's.
        places: As lane and key.
    """
    listed = _read(client, [("ZRANGE", place, "0", "-1") for _, place in places])
    flows = [
        (number, keys.flow(lane, flow.decode()))
        for number, ((lane, _), found) in enumerate(zip(places, listed, strict=True))
        for flow in found
    ]
    counts = [0] * len(places)
    sizes = _read(client, [("ZCARD", flow) for _, flow in flows])
    for (number, _), size in zip(flows, sizes, strict=True):
        counts[number] += size
    return counts


def _read(client: Any, commands: list[tuple[str, ...]]) -> list[Any]:
    answers: list[Any] = []
    for start in range(0, len(commands), READ_A_TRIP):
        pipeline = client.pipeline(transaction=False)
        for command in commands[start : start + READ_A_TRIP]:
            pipeline.execute_command(*command)
        answers += pipeline.execute()
    return answers
