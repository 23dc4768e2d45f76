"""The settings of metrics, which processes serve for Prometheus."""

from pydantic import Field

from .area import Area


class MetricsSettings(Area, frozen=True):
    """Where `/metrics` is served."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """The address that is listened on. Whoever reaches it may read the names of lanes and gates."""
    port: int | None = Field(default=None, ge=0, le=65_535)
    """The port of the process `ledger`; 0: a free one, which its log names; none: nothing is served."""
    scheduler_port: int | None = Field(default=None, ge=0, le=65_535)
    """The port of the process `scheduler`, likewise; for queues without a ledger."""
    api_port: int | None = Field(default=None, ge=0, le=65_535)
    """The port where the API's process serves its own HTTP figures, likewise."""
    gates: int = Field(default=20, ge=0)
    """How many gates have series: the fullest ones, and as many of those behind which most wait. As many actions, and
    as many queues of items."""
