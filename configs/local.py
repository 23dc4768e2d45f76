"""The settings of pods that are processes of this machine: what they may see and use.

The defaults let a program work as its user would, within bounds that a runaway meets and honest work does not. What
isolates programs from their worker, another user and a sandbox, has to be asked for: it needs root, or `bwrap`.
"""

from typing import Literal

from pydantic import Field, field_validator

from .area import Area, texts


class LocalSettings(Area, frozen=True):
    """What holds for every local pod (`k8s.backend = "local"`)."""

    sandbox: Literal["none", "bubblewrap"] = "none"
    """`bubblewrap`: no network, no other processes, a read-only system, its own /work and /tmp; needs `bwrap`."""
    sandbox_readable: tuple[str, ...] = ()
    """Absolute paths that programs in a sandbox may read beside the system's. As an environment variable: `one,two`."""
    run_as: str = Field(default="", pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$")
    """The user of all programs, by name or number, where workers run as root; empty: the worker's own."""
    max_processes: int = Field(default=1_024, ge=1)
    """Processes and threads by which a program may add to those of its user; root's are not bounded."""
    max_open_files: int = Field(default=4_096, ge=16)
    """Of each process."""
    disk_limit: str = Field(default="10Gi", min_length=1)
    """Bytes, as a Kubernetes quantity: of all in a program's folders, and of any one file that it writes."""

    _texts = field_validator("sandbox_readable", mode="before")(texts)

    @field_validator("sandbox_readable")
    @classmethod
    def _absolute(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [path for path in value if not path.strip("/") or not path.startswith("/")]:
            raise ValueError(f"{wrong[0]!r} is no absolute path below /")
        return value
