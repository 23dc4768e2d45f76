"""The settings of metrics, which the ledger's process serves for Prometheus."""

from pydantic import Field

from .area import Area


class MetricsSettings(Area, frozen=True):
    """Where the process `ledger` serves `/metrics`."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address it listens on. Whoever reaches it may read the names of lanes and gates."""
    port: int | None = Field(default=None, ge=0, le=65_535)
    """The port; 0: a free one, which its log names; none: nothing is served."""
    gates: int = Field(default=20, ge=0)
    """How many gates have series: the fullest ones, and as many of those behind which most wait."""
