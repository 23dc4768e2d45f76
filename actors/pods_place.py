"""Keeps the workers of one queue to one place of pods: one folder of local pods, or one namespace.

Each worker takes the pods that it does not find for lost, and begins their executions again. So a worker with another
folder under the same `redis.prefix` would run again what runs elsewhere. In the flow: at its boot, before it takes
anything, a worker claims the place in Redis, and renews the claim as long as it lives. A worker with another place
waits until no other claims, and ends with an error if one still does. If all workers die, the claim expires. A worker
that slept until others had claimed another place tells itself to end, as a process manager would: what it runs is
theirs to decide by now.
"""

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Final

from ..configs.logger import Logger
from ..k8s.errors import PodsElsewhere
from ..k8s.pods import Pods
from ..middleware.round_thread import RoundThread
from ..middleware.shards.routing import Shards
from ..middleware.shards.sharded_broker import ShardedBroker
from ..scheduler.shards.asking import ask_all
from ..scheduler.transport.scripts import Scripts

log = Logger(__name__)
NAME: Final = "bandmaster-place"
LOCK: Final = "pods"
CLAIMED_MS: Final = 10_000
"""How long a claim lasts that nobody renews."""
RENEWED_SECONDS: Final = 2.0
_LOOK_SECONDS: Final = 0.25
_PATIENCE_SECONDS: Final = CLAIMED_MS / 1_000 + 2 * RENEWED_SECONDS
"""Who ended leaves a claim that is over by then."""


class PodsPlace:
    """The claim of one worker process."""

    def __init__(self, scripts: Scripts, pods: Pods) -> None:
        """Makes no call to the server.

        Args:
            scripts: Of the queue whose executions run as these pods.
            pods: The backend.

        Raises:
            PodsUnavailable: If the backend's folder cannot be made.
        """
        self._client = scripts.client
        self._key = scripts.keys.lock(LOCK)
        self._prefix = scripts.keys.prefix
        self._place = pods.place()
        self._told = f"{pods.describe()}, on {socket.gethostname()}"
        self._is_ending = False
        self._rounds = RoundThread(NAME, self._renew, pause_seconds=RENEWED_SECONDS)

    def take(self) -> None:
        """Claim the place, and keep it until this process ends.

        Raises:
            PodsElsewhere: If other workers of the queue keep to another place.
            redis.RedisError: If the server does not answer.
        """
        until = time.monotonic() + _PATIENCE_SECONDS
        has_said = False
        while (other := self._claim()) is not None:
            if time.monotonic() >= until:
                raise PodsElsewhere(self._prefix, own=self._told, other=other)
            if not has_said:
                has_said = True
                log.warning("pods_elsewhere", own=self._told, other=other, waiting_seconds=_PATIENCE_SECONDS)
            # Nothing tells when a claim is over. No signal ends a worker that boots: the patience bounds it.
            time.sleep(_LOOK_SECONDS)
        self._rounds.start()

    def take_later(self) -> None:
        """Claim the place once the server answers, and end this process if others have another one by then."""
        self._rounds.start()

    def _renew(self) -> None:
        if self._is_ending or (other := self._claim()) is None:
            return
        log.error("pods_elsewhere", own=self._told, other=other, advice="this worker ends; end the others of its kind")
        self._is_ending = True  # a second signal would cut off what runs
        os.kill(os.getpid(), signal.SIGTERM)

    def _claim(self) -> str | None:
        """Claim the place, or renew the claim. None: it is ours; else where the pods of others are."""
        pipeline = self._client.pipeline(transaction=True)
        pipeline.set(self._key, f"{self._place} {self._told}", nx=True, px=CLAIMED_MS)
        pipeline.get(self._key)
        found: bytes = pipeline.execute()[1]
        place, _, told = found.decode(errors="replace").partition(" ")
        if place != self._place:
            return told
        # If it expires before this call, the next round claims it anew.
        self._client.pexpire(self._key, CLAIMED_MS)
        return None


def take_places(shards: Shards[ShardedBroker], place_of: Callable[[str], PodsPlace]) -> None:
    """Claim the place of each shard, all at once. One that does not answer is claimed when it does.

    Raises:
        PodsElsewhere: If other workers of a shard keep to another place.
    """
    named = {name: name for name in shards.brokers}
    answers = ask_all(named, lambda name: place_of(name).take())
    for name, problem in answers.away.items():
        log.warning("shard_away", shard=name, error=problem)
        place_of(name).take_later()
