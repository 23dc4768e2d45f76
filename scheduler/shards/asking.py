"""Asks all shards the same question at once, and says which of them did not answer.

In the flow: whoever looks for an execution by its id, or shows everything. Each shard is asked in a thread of its own,
so that a server that hangs holds up no other's answer; all have the one deadline of their calls, or of the whole
question if it has several. Only reads are asked: a process that dies here leaves nothing behind.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import redis

from ..model.errors import QueueUnavailable, UnknownExecution, shown

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Answers(Generic[A]):
    """What the shards answered."""

    found: dict[str, A]
    """The answer of each shard that answered, in the order of the shards."""
    away: dict[str, str]
    """The shards that did not answer, and why not."""

    def one(self) -> A:
        """Return any answer.

        Raises:
            QueueUnavailable: If no shard answered.
        """
        if not self.found:
            raise QueueUnavailable(f"no shard answered: {told_away(self.away)}")
        return next(iter(self.found.values()))

    def all(self) -> dict[str, A]:
        """Return the answers of all.

        Raises:
            QueueUnavailable: If a shard did not answer.
        """
        if self.away:
            raise QueueUnavailable(told_away(self.away))
        return self.found


def ask_all(shards: Mapping[str, S], question: Callable[[S], A], *, within_seconds: float | None = None) -> Answers[A]:
    """Ask every shard.

    Args:
        shards: What stands for each shard, by name.
        question: Asks one; it is called in a thread of its own, and bounds its own calls.
        within_seconds: One that has not answered by then is away, and its thread ends with its call; None: each call's
            own deadline is waited for.

    Raises:
        Exception: What a question raised, other than that its server did not answer.
    """
    found: dict[str, A] = {}
    away: dict[str, str] = {}
    failed: list[BaseException] = []

    def ask(name: str, shard: S) -> None:
        try:
            found[name] = question(shard)
        except (QueueUnavailable, redis.RedisError) as error:
            away[name] = str(error)
        except BaseException as error:  # noqa: BLE001  # it is raised in the thread that asks
            failed.append(error)

    threads = [
        threading.Thread(target=ask, args=each, name=f"bandmaster-ask-{each[0]}", daemon=True)
        for each in shards.items()
    ]
    ends = None if within_seconds is None else time.monotonic() + within_seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(None if ends is None else max(0.0, ends - time.monotonic()))
    if failed:
        raise failed[0]
    # Copies: a thread that is late may still write.
    answered, silent = found.copy(), away.copy()
    late = f"Redis did not answer within {within_seconds:g} s" if within_seconds is not None else ""
    return Answers(
        {name: answered[name] for name in shards if name in answered},
        {name: silent.get(name, late) for name in shards if name not in answered},
    )


def shard_of(shards: Mapping[str, S], execution_id: str, knows: Callable[[S], bool]) -> str:
    """Return the name of the shard that knows an execution.

    Args:
        shards: What stands for each shard, by name.
        execution_id: The execution.
        knows: Whether a shard knows it.

    Raises:
        UnknownExecution: If all answered, and none knows it.
        QueueUnavailable: If those that answered do not know it, and others did not answer.
    """
    answers = ask_all(shards, knows)
    for name, is_known in answers.found.items():
        if is_known:
            return name
    if answers.away:
        there = f"not found on {', '.join(answers.found)}; " if answers.found else ""
        raise QueueUnavailable(f"execution {shown(execution_id)}: {there}{told_away(answers.away)}")
    raise UnknownExecution(execution_id=execution_id)


def told_away(away: Mapping[str, str]) -> str:
    """Say which shards did not answer, and why."""
    return "; ".join(f"{name} did not answer ({reason})" for name, reason in away.items())
