"""The processes of a chaos run: each has a place with a proxy, where another is started when it is gone."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from faults_process.members import WORKER_READY, Member, Members
from probing import FOLDER
from proxy import Proxy

from chaos.plan import LANES, THREADS

WORKERS, SCHEDULERS = 3, 2
PRODUCERS: Final = ("banded", "banded", "plain")


class Place:
    """One process at a time."""

    def __init__(self, kind: str, proxy: Proxy, start: Callable[[str], Member]) -> None:
        self.kind: Final = kind
        self.proxy: Final = proxy
        self.is_harmed = False
        """Its process is gone, asleep or on its way out."""
        self._start = start
        self.member = start(proxy.url)

    def start(self) -> None:
        """Another process, in place of the one that is gone."""
        self.member = self._start(self.proxy.url)
        self.is_harmed = False


class Crew:
    """All of them."""

    def __init__(self, url: str, folder: Path, chance: random.Random) -> None:
        self._url = url
        self._folder = folder
        self._chance = chance
        self._members = Members(url, folder)
        makers: dict[str, Callable[[str], Member]] = {"worker": self._worker, "scheduler": self._scheduler}
        kinds = ["worker"] * WORKERS + ["scheduler"] * SCHEDULERS
        self.places = [Place(kind, Proxy(url), makers[kind]) for kind in kinds]
        self.places += [Place("producer", Proxy(url), self._producer(kind == "plain")) for kind in PRODUCERS]

    def of(self, kind: str) -> Iterator[Place]:
        """Those that are not harmed just now."""
        return (place for place in self.places if place.kind == kind and not place.is_harmed)

    def end_producers(self, timeout_seconds: float) -> None:
        """They send no more; each answer has come, or will not come any more."""
        producers = [place.member.process for place in self.places if place.kind == "producer"]
        for process in producers:
            process.send_signal(signal.SIGTERM)
        for process in producers:
            process.wait(timeout=timeout_seconds)

    def wait_until_ready(self) -> None:
        """All workers have begun, also those that were started last."""
        for place in self.of("worker"):
            place.member.wait_until_it_says(WORKER_READY)

    def end(self) -> None:
        """All that is left."""
        self._members.end_all()
        for place in self.places:
            place.proxy.close()

    def _worker(self, url: str) -> Member:
        return self._members.worker(
            module="chaos.application",
            threads=THREADS,
            environment=self._environment(url),
            ready=None,
            lane=LANES[0],
        )

    def _scheduler(self, url: str) -> Member:
        return self._members.scheduler(url=url, ready=None)

    def _producer(self, plain: bool) -> Callable[[str], Member]:
        def start(url: str) -> Member:
            seed = str(self._chance.randrange(1 << 30))
            own = {**self._environment(url), "CHAOS_PLAIN": str(int(plain)), "CHAOS_SEED": seed}
            return self._members.other("chaos.producing", ready=None, settings={}, environment=own)

        return start

    def _environment(self, url: str) -> dict[str, str]:
        return {"CHAOS_REDIS_URL": url, "CHAOS_FOLDER": str(self._folder), "PYTHONPATH": os.fspath(FOLDER)}
