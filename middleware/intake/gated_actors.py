"""The table of a process's gated actors, and of the lanes that follow from them.

In the flow: `PriorityBands` enters each actor when it is declared; all other code only reads the table. A worker tells
the server the limits and schedules that its actors declare before its first admission. If the process dies, the next
one declares them anew.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dramatiq import Actor, Broker

from ...scheduler.engine.controls import Controls
from ...scheduler.model.errors import QueueUnavailable
from .actor_options import GatedActor, read_actor
from .declaration import Declaration
from .declared_limits import by_lane, check_agreement
from .declared_schedules import check_names, declare, withdraw


class GatedActors(Mapping[str, GatedActor]):
    """Gated actors by name. Safe to share between threads."""

    def __init__(self) -> None:
        self._actors: dict[str, GatedActor] = {}
        self._elsewhere: frozenset[str] = frozenset()
        self._left_over: frozenset[str] = frozenset()
        self._declaration = Declaration()
        self._when_lost: list[Callable[[], None]] = []
        self._is_scheduled_here: Callable[[GatedActor], bool] = lambda _: True
        self.lanes: frozenset[str] = frozenset()
        """The queues that have a gated actor, and those adopted as lanes because they had one."""

    def __getitem__(self, name: str) -> GatedActor:
        return self._actors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._actors)

    def __len__(self) -> int:
        return len(self._actors)

    def enter(self, actor: "Actor[..., Any]") -> None:
        """Check the options of an actor, and add it.

        Raises:
            InvalidRequest: If an option is not allowed, or a limit differs from one that another actor declares.
        """
        gated = read_actor(actor)
        check_agreement(gated.name, gated.declared, {name: each.declared for name, each in self._actors.items()})
        check_names(gated.name, gated.schedule, [(name, each.schedule) for name, each in self._actors.items()])
        self._actors = {**self._actors, actor.actor_name: gated}
        self._elsewhere -= {actor.actor_name}
        self._declaration.forget()
        self._find_lanes()

    def leave(self, actor_name: str) -> None:
        """Remove an actor that was declared anew without an option that gates it."""
        self._actors = {name: each for name, each in self._actors.items() if name != actor_name}
        self._find_lanes()

    def know(self, gated: GatedActor) -> None:
        """Let messages be sent to an actor that other processes declare; its queue is no lane of this one for that."""
        if gated.name not in self._actors:
            self._elsewhere |= {gated.name}
            self._actors = {**self._actors, gated.name: gated}

    def adopt(self, queue_name: str) -> None:
        """Make a queue without gated actors a lane, since it still has executions, or ends to be told."""
        self._left_over |= {queue_name}
        self._find_lanes()

    def _find_lanes(self) -> None:
        self.lanes = self._left_over.union(gated.lane for gated in self._declared())

    def _declared(self) -> list[GatedActor]:
        return [gated for name, gated in self._actors.items() if name not in self._elsewhere]

    def declare_limits(self, controls: Controls, broker: Broker) -> None:
        """Tell the server the limits and schedules that these actors declare, unless it has them since this boot.

        Args:
            controls: The queue's controls.
            broker: The broker whose queues count; a queue whose actors declare no limits any more loses its old ones.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if not self._declaration.holds(controls):
            # First: if one of these fails, all is done again.
            for tell_again in self._when_lost if self._declaration.was_lost else ():
                tell_again()
            queues, actors = broker.get_declared_queues(), self._declared()
            limits = by_lane(queues, [(gated.lane, gated.declared.limits) for gated in actors])
            rates = by_lane(queues, [(gated.lane, gated.declared.rates) for gated in actors])
            self._declaration.make(controls, limits, rates)
            # Afterwards: a server that loses its data in between has lost the declaration, too, which is noticed.
            self._declare_schedules(controls)

    def _declare_schedules(self, controls: Controls) -> None:
        scheduled = [(self._is_scheduled_here(each), each.schedule) for each in self._declared()]
        try:
            withdraw(controls.schedules, [each for is_here, each in scheduled if each is not None and not is_here])
            declare(controls.schedules, [each for is_here, each in scheduled if each is not None and is_here])
        except QueueUnavailable:
            self._declaration.forget()
            raise

    def schedule_only(self, is_here: Callable[[GatedActor], bool]) -> None:
        """Declare the schedules of some actors only: those of others are withdrawn here, and live elsewhere."""
        self._is_scheduled_here = is_here

    def when_lost(self, tell_again: Callable[[], None]) -> None:
        """Have something called when the server has lost what it was told, as after a restart without its data."""
        self._when_lost.append(tell_again)

    def forget_declaration(self) -> None:
        """Have the limits declared again before the next admission."""
        self._declaration.forget()
