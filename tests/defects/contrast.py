"""The same check on the simple way, where it must fail, and on ours, where it must hold.

A test that never failed on the defect would prove nothing; so each shows the defect first.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import redis

from bandmaster.scheduler.events import ExecutionRequestedEvent

Q = TypeVar("Q")
_LOADING: Final = "SCRIPT LOAD"
"""Not counted: whether a script is known already does not matter."""


def contrast(holds: Callable[[Any], bool], *, simple: object, ours: object) -> None:
    """`holds` says whether a queue does right."""
    assert not holds(simple), "the simple way does not show the defect, so this test proves nothing"
    assert holds(ours)


def event(execution_id: str, **fields: Any) -> ExecutionRequestedEvent:
    """A request for a program that is never run here; `user` is short for the metadata's."""
    user = fields.pop("user", None)
    metadata = {} if user is None else {"metadata": {"user_id": user}}
    return ExecutionRequestedEvent.from_any({"execution_id": execution_id, "command": ["true"], **metadata, **fields})


class Died(BaseException):
    """The process is gone: nothing catches this."""


class DyingClient(redis.Redis):
    """A client whose process dies when its `lives`-th command has taken effect, before the answer is read."""

    lives: int = 0
    """0: for ever."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        answer: Any = super().execute_command(*args, **options)  # pyright: ignore[reportUnknownVariableType]
        if self.lives and args[0] != _LOADING:
            self.lives -= 1
            if self.lives == 0:
                raise Died
        return answer  # pyright: ignore[reportUnknownVariableType]


def mortal(queue: Q, client: redis.Redis, lives: int) -> Q:
    """The same kind of queue in another process, which dies at its `lives`-th command."""
    own = DyingClient(connection_pool=client.connection_pool)
    kind: Any = type(queue)
    other: Q = kind(own)
    own.lives = lives
    return other
