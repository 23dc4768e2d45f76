"""The settings of local pods, which are processes on this machine: what they may see and use.

By default a program may do what its user may, within bounds that stop a runaway but no honest work. Isolation from the
worker, by another user or a sandbox, has to be switched on, since it needs root or `bwrap`.
"""

from typing import Literal

from pydantic import Field, field_validator

from .area import Area, texts


class LocalSettings(Area, frozen=True):
    """The settings of every local pod (`k8s.backend = "local"`)."""

    sandbox: Literal["none", "bubblewrap"] = "none"
    """`bubblewrap`: no network, no other processes, a read-only system, its own /work and /tmp; needs `bwrap`."""
    sandbox_readable: tuple[str, ...] = ()
    """Absolute paths that sandboxed programs may read besides the system's. As an environment variable: `one,two`."""
    run_as: str = Field(default="", pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$")
    """The user of all programs, by name or number, if workers run as root; empty: the worker's own."""
    max_processes: int = Field(default=1_024, ge=1)
    """How many processes and threads a program may add to those that its user has; root is not bounded."""
    max_open_files: int = Field(default=4_096, ge=16)
    """How many files each process may have open."""
    disk_limit: str = Field(default="10Gi", min_length=1)
    """Bytes, as a Kubernetes quantity: the limit of a program's folders in all, and of each file that it writes."""

    _texts = field_validator("sandbox_readable", mode="before")(texts)

    @field_validator("sandbox_readable")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [path for path in value if not path.strip("/") or not path.startswith("/")]:
            raise ValueError(f"{wrong[0]!r} is no absolute path below /")
        return value
