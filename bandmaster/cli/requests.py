"""Builds the events of `submit` from files, standard input and options, and checks all before any is sent.

In the flow: `submit` calls this before it opens the queue, so that wrong input has no effect and needs no server. The
event itself cannot check everything (whether a runtime is known, whether a quantity can limit a process), so the
specification of its pod is built as well.
"""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Final

from bandmaster.cli.exits import WrongUsage
from bandmaster.k8s.errors import PodRejected
from bandmaster.k8s.runnable import check_runnable
from bandmaster.scheduler.events import EVENT_MAX_BYTES, ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import InvalidRequest, shown
from bandmaster.scheduler.model.priority import Priority

STDIN: Final = "-"
FILE_NAME_MAX_CHARS: Final = 128


@dataclass(frozen=True, slots=True)
class Options:
    """The options that all executions of one `submit` share."""

    priority: str
    action: str
    timeout_seconds: int
    user_id: str | None = None
    due: datetime | None = None
    gates: tuple[str, ...] = ()
    cpu_limit: str | None = None
    memory_limit: str | None = None
    image: str | None = None
    profile: str | None = None
    runtime: str | None = None
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """The content of one execution: a script's text or a command."""

    shown_as: str
    script: str | None = None
    file_name: str | None = None
    command: tuple[str, ...] | None = None


def command_source(command: Sequence[str]) -> Source:
    """The source for the command after ``--``."""
    return Source(shlex.join(command) or "the command behind --", command=tuple(command))


def read_source(path: str) -> Source:
    """Read a script from a file, or from standard input for ``-``.

    Raises:
        WrongUsage: If the script cannot be read, is too long or is no text.
    """
    name = "standard input" if path == STDIN else path
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(EVENT_MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(EVENT_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise WrongUsage(f"{shown(name)} cannot be read: {reason}") from None
    if len(data) > EVENT_MAX_BYTES:
        raise WrongUsage(
            f"{shown(name)} is longer than {EVENT_MAX_BYTES} bytes; put large data where the execution can fetch it"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise WrongUsage(f"{shown(name)} is not UTF-8 text (byte {error.start}): only scripts can be sent") from None
    return Source(name, script=text, file_name=None if path == STDIN else file_name_of(path))


def file_name_of(path: str) -> str | None:
    """The name under which the script is stored: its own, with forbidden characters replaced."""
    given = PurePath(path).name
    suffix = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(given).suffix)[-FILE_NAME_MAX_CHARS // 2 :]
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", PurePath(given).stem).lstrip(".-")
    return (stem or "script")[: FILE_NAME_MAX_CHARS - len(suffix)] + suffix


def event_of(source: Source, options: Options, execution_id: str | None = None) -> ExecutionRequestedEvent:
    """Build the event of a source.

    Raises:
        WrongUsage: If a field is wrong; names the source and the field.
    """
    fields: dict[str, object] = {
        "priority": Priority.parse(int(options.priority) if options.priority.isdecimal() else options.priority),
        "action": options.action,
        "timeout_seconds": options.timeout_seconds,
        "gates": options.gates,
        "metadata": {"user_id": options.user_id, "labels": read_labels(options.labels), "profile": options.profile},
        "script": source.script,
        "command": source.command,
        "file_name": source.file_name,
        "image": options.image,
        "runtime": options.runtime,
        "cpu_limit": options.cpu_limit,
        "memory_limit": options.memory_limit,
        "scheduled_at": options.due,
    }
    if execution_id is not None:
        fields["execution_id"] = execution_id
    try:
        event = ExecutionRequestedEvent.from_any(fields)
        check_runnable(event)
    except (InvalidRequest, PodRejected) as error:
        raise WrongUsage(f"{source.shown_as[:80]}: {error}") from None
    return event


def read_labels(labels: Sequence[str]) -> dict[str, str]:
    """Parse labels of the form ``k=v``."""
    read: dict[str, str] = {}
    for label in labels:
        name, equals, value = label.partition("=")
        if not equals:
            raise WrongUsage(f"--label: {shown(label)} has no '='; allowed: NAME=VALUE")
        if name in read:
            raise WrongUsage(f"--label: {shown(name)} is given twice")
        read[name] = value
    return read
