"""What a question is: whom it compares, how one side is measured once, which figures come out, what is to be reached.

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
"""Figure's name → value, of one side in one run."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Something measured."""

    name: str
    unit: str
    charted: bool = False
    """Shown in the chart; sides are comparable in it."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be reached: a figure of one side, or its ratio to a figure of another side in the same run."""

    side: str
    figure: str
    at_least: float | None = None
    at_most: float | None = None
    of_side: str | None = None
    """The ratio to this side is meant."""
    of_figure: str | None = None
    """And to this figure of it; None: the same."""

    @property
    def text(self) -> str:
        """As the table shows it."""
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        if self.of_side is None:
            return bound
        return f"{bound} × {self.of_side}" + (f", {self.of_figure}" if self.of_figure else "")

    def is_reached(self, value: float) -> bool:
        """Whether a value reaches it."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)


@dataclass(frozen=True, slots=True)
class Question:
    """One question."""

    name: str
    asks: str
    """The question, as a sentence."""
    sides: tuple[str, ...]
    """Whom it compares; ratios are to the first."""
    figures: tuple[Figure, ...]
    measure: "Callable[[Rig, str], Measured]"
    """Measures one side once, on an empty server."""
    targets: tuple[Target, ...] = ()
    prepare: "Callable[[Rig], None] | None" = None
    """Fills the server once for all runs; it is then not emptied between them."""
    runs: int | None = None
    """In place of the number asked for, where a run is long and its figure steady."""
    needs_cluster: bool = False
    """It creates pods on the cluster that KUBECONFIG names; asked only when it is named itself."""
