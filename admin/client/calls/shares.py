"""Calls about fair lanes and weights. In the flow: see the package."""

from ...answers.shares import OneShare, OneWeight, Shares, Weights
from ..call import V1, Call, changing, named


def shares() -> Call[Shares]:
    """All fair lanes."""
    return Call("GET", f"{V1}/shares", Shares)


def share(lane: str) -> Call[OneShare]:
    """Whose turns a lane gives."""
    return Call("GET", named("shares", lane), OneShare)


def set_share(lane: str, kind: str | None) -> Call[OneShare]:
    """Make a lane fair by a kind of gates, such as `user`, or strict again."""
    return changing(named("shares", lane), OneShare, None if kind is None else {"kind": kind})


def weights() -> Call[Weights]:
    """All weights that were set."""
    return Call("GET", f"{V1}/weights", Weights)


def weight(gate: str) -> Call[OneWeight]:
    """The weight of a gate in fair lanes."""
    return Call("GET", named("weights", gate), OneWeight)


def set_weight(gate: str, weight: int | None) -> Call[OneWeight]:
    """Set the weight of a gate, or let it be 1 again."""
    return changing(named("weights", gate), OneWeight, None if weight is None else {"weight": weight})
