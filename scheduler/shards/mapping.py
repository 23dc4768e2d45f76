"""``ShardMap``: which shard holds the executions of a lane and a band.

In the flow: whoever sends an execution asks once, when it is sent; it stays where it was put, through retries, ageing
and changes of the map. A lane that is claimed goes wholly to its shard; of all other lanes the bands that are claimed
do; the rest is on `default`. Pure, and the same in every process that has the same settings. Processes with different
maps send to different servers, and lose nothing: every worker takes from every shard.
"""

from collections.abc import Mapping
from typing import Final

from ...configs.shards import DEFAULT, ShardSettings
from ..model.errors import OnAnotherShard
from ..model.priority import Priority


class ShardMap:
    """The claims of all shards. Immutable."""

    __slots__ = ("names", "of_band", "of_lane")

    def __init__(self, shards: Mapping[str, ShardSettings]) -> None:
        self.names: Final = (DEFAULT, *shards)
        self.of_lane: Final = {lane: name for name, shard in shards.items() for lane in shard.lanes}
        self.of_band: Final = {Priority[band]: name for name, shard in shards.items() for band in shard.bands}

    def of(self, lane: str, band: Priority | None) -> str:
        """Return the name of the shard of a lane and a band; None: a message without a band."""
        claimed = self.of_lane.get(lane)
        if claimed is not None:
            return claimed
        return DEFAULT if band is None else self.of_band.get(band, DEFAULT)

    def check_move(self, execution_id: str, lane: str, band: Priority, *, shard: str) -> None:
        """Check that an execution may move to a band.

        Args:
            execution_id: The execution, which is on `shard`.
            lane: Its lane.
            band: The band to which it would move.
            shard: Where it is.

        Raises:
            OnAnotherShard: If that band of its lane is on another server.
        """
        there = self.of(lane, band)
        if there != shard:
            raise OnAnotherShard(
                f"execution {execution_id!r} is on shard {shard}, and {band.name} of lane {lane} is on shard {there}: "
                "an execution is not moved between servers; cancel it, and send it again under a new id"
            )
