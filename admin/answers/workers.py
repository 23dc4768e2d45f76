"""Documents about worker processes."""

from .document import Answer, Read


class RunningAnswer(Answer):
    """An execution that a thread works on."""

    execution_id: str
    attempt: int
    lane: str


class WorkerAnswer(Answer):
    """A worker process that lives."""

    worker_id: str
    host: str | None
    """None, as is `pid`: the caller is no operator."""
    pid: int | None
    release: str
    """The version of Bandmaster that it runs."""
    since: str
    threads: int
    busy: int
    """How many of them work on something."""
    lanes: list[str]
    """From which it takes executions now."""
    running: list[RunningAnswer]
    """What they work on, at most 200; of the caller's own only, unless it is an operator."""
    stopping: bool
    """Whether it takes nothing more, and ends when what runs has ended."""


class WorkersAnswer(Read):
    """All worker processes that live, those that began first before the others."""

    workers: list[WorkerAnswer]
    threads: int
    """Of all."""
    busy: int
