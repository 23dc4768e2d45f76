"""``WriteSigns``: what processes of the ledger say in Redis: that they can write it, or since when and why they cannot.

In the flow: the consumer says so after its steps, since a database that takes no writes cannot keep it; verdicts,
metrics and commands read it. The processes share one note, and one that writes wipes off what another one said.
It expires, so what a process said that died since is gone within minutes. Nothing depends on it.
"""

from typing import Final

from ..scheduler.transport.reading import Reader, repeated
from ..scheduler.verdicts import Unwritten

SIGNED_MS: Final = 5_000
"""Who writes says so as often as this."""
ELSEWHERE_MS: Final = 15_000
"""A process that cannot write is not the ledger's trouble while another one said so recently that it can."""
KEPT_MS: Final = 120_000
"""A try, and the pause after it, take less."""


class WriteSigns(Reader):
    """The note of one queue's ledger. Each method raises QueueUnavailable if the server does not answer."""

    @repeated
    def wrote(self, holder: str, now_ms: int) -> None:
        """Say that a process can write.

        Args:
            holder: Its name.
            now_ms: The server's time.
        """
        key = self._scripts.keys.ledger()
        pipeline = self._client.pipeline(transaction=True)
        pipeline.hset(key, mapping={"holder": holder, "written_ms": now_ms})
        pipeline.hdel(key, "failing_ms", "reason")
        pipeline.pexpire(key, KEPT_MS)
        pipeline.execute()

    @repeated
    def failed(self, holder: str, reason: str) -> None:
        """Say that a process cannot write; nothing, if another one can.

        Args:
            holder: Its name.
            reason: Why, as everybody may see it.
        """
        key, now_ms = self._scripts.keys.ledger(), self._now_ms()
        writer, written_ms = self._client.hmget(key, "holder", "written_ms")
        if writer not in (None, holder.encode()) and abs(now_ms - int(written_ms)) < ELSEWHERE_MS:
            return
        # If that one writes in this moment, it wipes this off within seconds.
        pipeline = self._client.pipeline(transaction=True)
        pipeline.hsetnx(key, "failing_ms", now_ms)
        pipeline.hset(key, "reason", reason)
        pipeline.pexpire(key, KEPT_MS)
        pipeline.execute()

    @repeated
    def unwritten(self) -> Unwritten | None:
        """Since when and why nobody can write; None: somebody can, or nobody tries."""
        failing_ms, reason = self._client.hmget(self._scripts.keys.ledger(), "failing_ms", "reason")
        if failing_ms is None or reason is None:
            return None
        return Unwritten(max(0, self._now_ms() - int(failing_ms)), reason.decode())

    def _now_ms(self) -> int:
        seconds, microseconds = self._client.time()
        return seconds * 1000 + microseconds // 1000
