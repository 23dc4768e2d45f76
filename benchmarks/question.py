"""The types of a question: the sides that it compares, its measurement of one side, its figures and its targets.

In the flow: each question's module makes one `Question`; the runner calls `measure` for each side in turn, run after
run. Nothing here measures.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .rig import Rig

BARE: Final = "bare Dramatiq"
BANDMASTER: Final = "Bandmaster"
SIMPLE: Final = "simple script"

Measured = Mapping[str, float]
"""The values of one side's figures in one run, by the figure's name."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured quantity."""

    name: str
    unit: str
    charted: bool = False
    """Whether it is in the chart, which compares the sides by it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A goal for a figure of one side, or for its ratio to a figure of another side in the same run."""

    side: str
    figure: str
    at_least: float | None = None
    at_most: float | None = None
    of_side: str | None = None
    """If set, the goal is for the ratio to this side."""
    of_figure: str | None = None
    """The other side's figure in the ratio; None: the same figure."""

    @property
    def text(self) -> str:
        """The goal as text for the table."""
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        if self.of_side is None:
            return bound
        return f"{bound} × {self.of_side}" + (f", {self.of_figure}" if self.of_figure else "")

    def is_reached(self, value: float) -> bool:
        """Whether a value reaches the goal."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    name: str
    asks: str
    """The question, as a sentence."""
    sides: tuple[str, ...]
    """The sides that it compares; ratios are to the first."""
    figures: tuple[Figure, ...]
    measure: "Callable[[Rig, str], Measured]"
    """Measures one side once, on an empty server."""
    targets: tuple[Target, ...] = ()
    prepare: "Callable[[Rig], None] | None" = None
    """Fills the server once for all runs; it is then not emptied between them."""
    runs: int | None = None
    """The number of runs, instead of the requested one, if a run is long and its figure steady."""
    needs_cluster: bool = False
    """Whether it creates pods on the cluster of KUBECONFIG; such a question runs only if it is named."""
