"""The specification of a pod, checked completely when it is constructed, before anything is created.

The saga's ``create_pod`` builds a ``PodSpec`` from an event; each backend turns it into a process or a manifest. A
specification that exists is valid: commands, file names and limits are checked here only. Pure: a process that dies
here loses nothing.
"""

import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ..scheduler.model.errors import InvalidRequest, shown
from ..scheduler.model.identifiers import check_execution_id
from ..scheduler.model.trace_context import TraceContext
from .errors import PodRejected
from .quantity import cpu_cores, memory_bytes
from .runtimes import Runtime, choose_runtime, default_file_name

#: The most that a ConfigMap holds, in which the script travels on a cluster.
MAX_SCRIPT_BYTES = 1 << 20
#: The kernel takes arguments of 128 KiB each and about 2 MiB together; an event is smaller than that.
MAX_COMMAND_BYTES = 1 << 20
#: 50 years: far below the maximum of `activeDeadlineSeconds`.
MAX_TIMEOUT_SECONDS = 50 * 365 * 86_400
T = TypeVar("T")
_PREFIX_LENGTH = 24
_HASH_LENGTH = 16


def pod_prefix(execution_id: str) -> str:
    """The common prefix of the names of an execution's pods, and of no other's; the attempt's number follows it."""
    return pod_name(execution_id, 1)[:-1]


def pod_name(execution_id: str, attempt: int) -> str:
    """Name the pod of an attempt: ``exec-{short id}-{attempt}``, DNS-1123 and at most 63 characters.

    The short id is the beginning of the id in a readable form and a hash of the whole id. So ids that differ only in
    case, in punctuation or after the 24th character have different pods.

    Raises:
        PodRejected: If the id or the attempt is out of range.
    """
    try:
        check_execution_id(execution_id)
    except InvalidRequest as error:
        raise PodRejected(str(error)) from error
    if not 1 <= attempt < 10**9:
        raise PodRejected(f"attempt {attempt} is not between 1 and 999999999")
    readable = re.sub(r"[^a-z0-9]+", "-", execution_id.lower())[:_PREFIX_LENGTH].strip("-")
    digest = hashlib.sha256(execution_id.encode()).hexdigest()[:_HASH_LENGTH]
    return "-".join(part for part in ("exec", readable, digest, str(attempt)) if part)


@dataclass(frozen=True, slots=True)
class PodScript:
    """A script to run.

    Args:
        text: The script itself, at most 1 MiB of UTF-8.
        file_name: The name of its file in the work folder, without a path.
        runtime: Its runtime (see ``runtimes.py``); None: chosen by the text and the name.
    """

    text: str
    file_name: str | None = None
    runtime: str | None = None

    def __post_init__(self) -> None:
        """Check the text, the name and the runtime."""
        try:
            size = len(self.text.encode())
        except UnicodeEncodeError as error:
            raise PodRejected(f"the script is no valid text: {error.reason} at character {error.start}") from error
        if not self.text.strip():
            raise PodRejected("the script is empty")
        if size > MAX_SCRIPT_BYTES:
            raise PodRejected(f"the script has {size} bytes; at most {MAX_SCRIPT_BYTES} are allowed")
        if self.file_name is not None:
            _check_file_name(self.file_name)
        choose_runtime(self.text, self.file_name, self.runtime)

    @property
    def resolved_runtime(self) -> Runtime:
        """The runtime that was requested or chosen."""
        return choose_runtime(self.text, self.file_name, self.runtime)

    @property
    def resolved_file_name(self) -> str:
        """The name of its file, given or by default."""
        return self.file_name or default_file_name(self.resolved_runtime)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSpec:
    """One attempt of one execution: exactly one of ``script`` and ``command``, and its limits.

    Quantities are those of Kubernetes (``500m``, ``256Mi``); None: the backend's own default, locally no limit.
    ``image``, ``profile`` and the two requests have an effect on a cluster only.
    """

    execution_id: str
    attempt: int
    action: str
    timeout_seconds: float
    user_id: str | None = None
    profile: str | None = None
    script: PodScript | None = None
    command: tuple[str, ...] | None = None
    image: str | None = None
    cpu_request: str | None = None
    cpu_limit: str | None = None
    memory_request: str | None = None
    memory_limit: str | None = None
    trace: TraceContext | None = None
    """The span that its program can join, by its environment."""
    items_file: str | None = field(default=None, repr=False)
    """The text of the file with the items that it works on, and their token; None: it was not started for any."""

    def __post_init__(self) -> None:
        """Check everything; raise ``PodRejected`` that names the first invalid field."""
        pod_name(self.execution_id, self.attempt)
        if (self.script is None) == (self.command is None):
            raise PodRejected("exactly one of script and command is needed")
        if self.command is not None:
            _check_command(self.command)
        if not (math.isfinite(self.timeout_seconds) and 0 < self.timeout_seconds <= MAX_TIMEOUT_SECONDS):
            raise PodRejected(f"timeout_seconds {self.timeout_seconds} is not between 0 and {MAX_TIMEOUT_SECONDS}")
        cpu = [_read(cpu_cores, self, name) for name in ("cpu_request", "cpu_limit")]
        if cpu[0] is not None and cpu[1] is not None and cpu[0] > cpu[1]:
            raise PodRejected(f"cpu_request {self.cpu_request} is more than cpu_limit {self.cpu_limit}")
        memory = [_read(memory_bytes, self, name) for name in ("memory_request", "memory_limit")]
        if memory[0] is not None and memory[1] is not None and memory[0] > memory[1]:
            raise PodRejected(f"memory_request {self.memory_request} is more than memory_limit {self.memory_limit}")

    @property
    def name(self) -> str:
        """The name of its pod."""
        return pod_name(self.execution_id, self.attempt)

    @property
    def identity(self) -> dict[str, str]:
        """The variables by which its program learns what it is, on every backend."""
        own = {"EXECUTION_ID": self.execution_id, "EXECUTION_ATTEMPT": str(self.attempt)}
        return own if self.trace is None else own | self.trace.environment


def _read(quantity: Callable[[str], T], spec: PodSpec, field: str) -> T | None:
    value: str | None = getattr(spec, field)
    try:
        return None if value is None else quantity(value)
    except PodRejected as error:
        raise PodRejected(f"{field}: {error}", field=field) from error


def _check_file_name(name: str) -> None:
    # A name with a slash would write outside of the work folder; control characters would spoil every listing.
    plain = bool(name) and "/" not in name and name not in (".", "..") and name.isprintable()
    if not plain or len(name.encode(errors="replace")) > 200:
        raise PodRejected(f"file name {shown(name)} is no plain name of at most 200 bytes without a slash")


def _check_command(command: tuple[str, ...]) -> None:
    if not command or not command[0]:
        raise PodRejected("the command is empty")
    for position, argument in enumerate(command):
        if "\0" in argument:
            raise PodRejected(f"argument {position} of the command contains a NUL character")
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise PodRejected(f"argument {position} of the command is no valid text: {error.reason}") from error
    if sum(len(argument.encode()) + 1 for argument in command) > MAX_COMMAND_BYTES:
        raise PodRejected(f"the command is longer than {MAX_COMMAND_BYTES} bytes")
