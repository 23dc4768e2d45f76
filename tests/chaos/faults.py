"""What a chaos run does to processes, server and network: seeded, each kind counted, several at a time."""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import redis
from dealing import Cards, Deck
from proxy import Command, Loss

from bandmaster.scheduler.model.errors import BandmasterError
from chaos import own_clock, own_network
from chaos.crew import Crew, Place
from chaos.following import Following
from chaos.later import Later
from chaos.own_data import CopiedServer
from chaos.plan import LEASE_MS

SLOW_SECONDS: Final = 0.2
LOST_REPLIES: Final = 0.05
OLDEST_COPY_SECONDS: Final = 8.0
"""An older one would have the run forget most of what it did."""
FULL_BYTES: Final = 1
"""More is in use: whatever needs memory is refused."""
ENDING_SECONDS: Final = 45.0
"""A worker that is asked to end has so long."""


class Faults:
    """Harms, which end by themselves when their time is over."""

    def __init__(self, crew: Crew, server: CopiedServer, following: Following, chance: random.Random) -> None:
        self.done: Final = Counter[str]()
        """Kind → how often."""
        self.later: Final = Later()
        self._crew = crew
        self._server = server
        self._following = following
        self._chance = chance
        self._is_server_harmed = False
        self._is_network_harmed = False
        self._has_leapt = False
        cards: Cards = {
            **{
                f"{kind} killed": (3, self._on_process(kind, self._kill))
                for kind in ("worker", "scheduler", "producer")
            },
            **{
                f"{kind} stopped": (2, self._on_process(kind, self._stop))
                for kind in ("worker", "scheduler", "producer")
            },
            "worker restarted": (1, self._on_process("worker", self._end)),
            "server killed": (2, self._kill_server),
            "server stopped": (2, self._stop_server),
            "server restored": (2, self._restore_server),
            "memory full": (2, self._fill_memory),
            "network slow": (2, self._on_proxy(self._slow)),
            "network cut": (2, self._on_proxy(self._cut)),
            "network swallows": (2, self._on_proxy(self._swallow)),
            "replies lost": (2, self._on_proxy(self._lose_replies)),
        }
        if own_clock.why_not() is None:
            cards = {**cards, "clock leaps": (2, self._leap)}
        if own_network.is_inside():
            cards = {**cards, "packets lost": (3, self._lose_packets)}
        self._deck = Deck(cards, chance)

    def one(self) -> str:
        """The next card; returns what was done, or nothing."""
        kind, harm = self._deck.deal()
        try:
            if not harm():
                return ""
        except (BandmasterError, redis.RedisError):
            return ""  # what was to be harmed is away
        self.done[kind] += 1
        return kind

    def end(self) -> bool:
        """End all of them; returns whether everything is there again."""
        return self.later.look(all_of_it=True)

    def _on_process(self, kind: str, harm: Callable[[Place], None]) -> Callable[[], bool]:
        def act() -> bool:
            places = list(self._crew.of(kind))
            if not places:
                return False
            place = self._chance.choice(places)
            place.is_harmed = True
            harm(place)
            return True

        return act

    def _kill(self, place: Place) -> None:
        place.member.kill()
        self.later.after(self._chance.choice((0.0, self._chance.uniform(0.0, 3.0))), lambda: self._start(place))

    def _start(self, place: Place) -> bool:
        place.start()
        return True

    def _stop(self, place: Place) -> None:
        """Mostly past its lease."""
        place.member.signal(signal.SIGSTOP)

        def go_on() -> bool:
            place.member.go_on()
            place.is_harmed = False
            return True

        self.later.after(self._chance.uniform(0.3, 3.0) * LEASE_MS / 1000, go_on)

    def _end(self, place: Place) -> None:
        """As a rolling update does."""
        place.member.process.terminate()
        deadline = time.monotonic() + ENDING_SECONDS

        def has_ended() -> bool:
            if place.member.process.poll() is None and time.monotonic() < deadline:
                return False
            place.member.end()
            return self._start(place)

        self.later.after(0.0, has_ended)

    def _kill_server(self) -> bool:
        if self._is_server_harmed:
            return False
        self._server.restart()
        return True

    def _stop_server(self) -> bool:
        if self._is_server_harmed:
            return False
        self._is_server_harmed = True
        self._server.signal(signal.SIGSTOP)

        def go_on() -> bool:
            self._server.signal(signal.SIGCONT)
            self._is_server_harmed = False
            return True

        self.later.after(self._chance.uniform(0.2, 4.0), go_on)
        return True

    def _restore_server(self) -> bool:
        if self._is_server_harmed:
            return False
        if time.time() - self._server.copied_at < OLDEST_COPY_SECONDS:
            self._following.restore()
            return True
        self._is_server_harmed = True
        self._server.restart()

        def restore() -> bool:
            self._following.restore()
            self._is_server_harmed = False
            return True

        self.later.after(self._chance.uniform(1.0, 4.0), restore)
        return True

    def _fill_memory(self) -> bool:
        if self._is_server_harmed:
            return False
        self._bound_memory(FULL_BYTES)

        def empty() -> bool:
            try:
                self._bound_memory(0)
            except redis.RedisError:
                return False
            return True

        self.later.after(self._chance.uniform(0.3, 2.0), empty)
        return True

    def _bound_memory(self, size_bytes: int) -> None:
        with redis.Redis.from_url(self._server.url, socket_timeout=2.0) as client:
            client.config_set("maxmemory", size_bytes)

    def _leap(self) -> bool:
        if self._has_leapt:
            return False
        self._has_leapt = True
        own_clock.leap(self._server.folder, self._chance.choice(own_clock.LEAPS_SECONDS))

        def back() -> bool:
            own_clock.leap(self._server.folder, 0)
            self._has_leapt = False
            return True

        self.later.after(self._chance.uniform(2.0, 8.0), back)
        return True

    def _on_proxy(self, harm: Callable[[Place], Callable[[], None]]) -> Callable[[], bool]:
        def act() -> bool:
            place = self._chance.choice(self._crew.places)
            undo = harm(place)

            def over() -> bool:
                undo()
                return True

            self.later.after(self._chance.uniform(0.3, 5.0), over)
            return True

        return act

    def _slow(self, place: Place) -> Callable[[], None]:
        place.proxy.delay_seconds = SLOW_SECONDS
        return lambda: setattr(place.proxy, "delay_seconds", 0.0)

    def _cut(self, place: Place) -> Callable[[], None]:
        place.proxy.refuses = True
        place.proxy.break_connections()
        return lambda: setattr(place.proxy, "refuses", False)

    def _swallow(self, place: Place) -> Callable[[], None]:
        place.proxy.swallows = True

        def over() -> None:
            place.proxy.swallows = False
            place.proxy.break_connections()

        return over

    def _lose_replies(self, place: Place) -> Callable[[], None]:
        draw = random.Random(self._chance.random())

        def doomed(command: Command) -> bool:
            return command[0].upper() in (b"FCALL", b"EVALSHA") and draw.random() < LOST_REPLIES

        place.proxy.lose_reply(doomed, self._chance.choice(list(Loss)))
        return lambda: place.proxy.lose_reply(lambda _: False)

    def _lose_packets(self) -> bool:
        if self._is_network_harmed:
            return False
        self._is_network_harmed = True
        own_network.lose_packets()

        def over() -> bool:
            own_network.lose_no_packets()
            self._is_network_harmed = False
            return True

        self.later.after(self._chance.uniform(2.0, 8.0), over)
        return True
