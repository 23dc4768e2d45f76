"""What a chaos run does to its installation: seeded, each kind counted. What finds nothing to harm counts as none."""

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import redis
from chaos_looking import Observers
from chaos_rules import Rules
from chaos_work import Work
from cluster_admin import Admin, Json
from components import Components
from dealing import Cards, Deck
from faults_process.members import Member
from faults_server.restoring import RestoringServer
from installation import LONG_LEASES, Installation
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import HTTPError

from bandmaster.scheduler.model.errors import QueueUnavailable

POD_TTL_SECONDS: Final = 15
"""Of pods whose end was told; a dump is never older, or their ends would have gone with them."""
OLDEST_DUMP_SECONDS: Final = 10.0
LOST_SECONDS: Final = 3.0
"""What is written in this time at least is lost with a restore."""


class Faults:
    """Harms, one at a time."""

    def __init__(
        self,
        installation: Installation,
        server: RestoringServer,
        admin: Admin,
        components: Components,
        rules: Rules,
        work: Work,
        observers: Observers,
        chance: random.Random,
    ) -> None:
        self.done: Final = Counter[str]()
        """Kind → how often."""
        self._installation = installation
        self._server = server
        self._admin = admin
        self._components = components
        self._rules = rules
        self._work = work
        self._observers = observers
        self._chance = chance
        self._workers: list[Member] = []
        self._remembered_at = 0.0
        kinds: Cards = {
            "worker killed": (3, self._kill_worker),
            "pod deleted": (3, self._delete_pod),
            "pod evicted": (3, self._evict_pod),
            "pod forced": (3, self._force_pod),
            "cancelled": (2, self._cancel),
            "Redis restored": (2, self._restore),
            "API server restarted": (1, self._restart_api),
        }
        self._deck = Deck(kinds, chance)

    def start_workers(self, count: int) -> None:
        """So many, which are killed and replaced from now on."""
        self._workers += [self._worker() for _ in range(count)]

    def one(self) -> str:
        """The next card; returns what was done, or nothing."""
        kind, harm = self._deck.deal()
        try:
            if not harm():
                return ""
        except (ApiException, HTTPError, QueueUnavailable):
            return ""  # what was to be harmed is away, or gone
        self.done[kind] += 1
        return kind

    def _worker(self) -> Member:
        return self._installation.worker(leases=LONG_LEASES, pod_ttl_seconds=POD_TTL_SECONDS)

    def _kill_worker(self) -> bool:
        index = self._chance.randrange(len(self._workers))
        self._workers[index].kill()
        self._workers[index] = self._worker()
        return True

    def _restart_api(self) -> bool:
        self._components.restart("kube-apiserver")
        return True

    def _delete_pod(self) -> bool:
        return self._harm_pod(lambda pod: self._admin.delete(self._installation.namespace, pod))

    def _force_pod(self) -> bool:
        return self._harm_pod(lambda pod: self._admin.delete(self._installation.namespace, pod, grace_period_seconds=0))

    def _evict_pod(self) -> bool:
        return self._harm_pod(lambda pod: self._admin.evict(self._installation.namespace, pod))

    def _harm_pod(self, harm: Callable[[str], None]) -> bool:
        living: list[Json] = self._observers.living
        if not living:
            return False
        metadata = self._chance.choice(living)["metadata"]
        self._work.harm(metadata.get("annotations", {}).get("bandmaster.dev/execution-id", ""))
        harm(metadata["name"])
        return True

    def _cancel(self) -> bool:
        alive = [name for name, planned in self._work.accepted.items() if not planned.cancelled][-20:]
        if not alive:
            return False
        name = self._chance.choice(alive)
        self._work.harm(name, cancel=True)
        self._installation.queue.cancel(name)
        return True

    def remember(self) -> None:
        """Have the server keep what it knows now, as that to which it is restored."""
        self._server.remember()
        self._remembered_at = time.monotonic()

    def _restore(self) -> bool:
        if time.monotonic() - self._remembered_at > OLDEST_DUMP_SECONDS:
            self.remember()
            time.sleep(LOST_SECONDS)  # the moment itself, not a wait for something
        self._work.top_up()
        with self._rules.lock, redis.Redis.from_url(self._server.url) as client:
            # From here on nobody writes, so what is read now is all that will be lost.
            client.execute_command("CLIENT", "PAUSE", "60000", "WRITE")
            before = list(self._installation.queue.journal.entries())
            self._server.restore()
            known = {entry.entry_id for entry in self._installation.queue.journal.entries()}
            lost = [entry for entry in before if entry.entry_id not in known]
            self._rules.restored(lost)
            self._work.restored(lost)
        return True
