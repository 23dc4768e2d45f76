"""The real scripts on a real server, with a clock that is turned and calls that arrive twice, or late.

`deliveries` says how often one call arrives: its reply was lost, so its caller made it again with its token. Every call
is kept as it was sent, so that it may arrive once more when its caller has long gone on.
"""

from collections.abc import Callable
from typing import Any

import redis

from bandmaster.scheduler.engine.grants import read_exchange
from bandmaster.scheduler.transport.library import Script, assemble
from bandmaster.scheduler.transport.scripts import Argument, Call, Scripts, StaleCall
from model.clock import Clock, slow_includes
from model.dump import Dump, nothing_ends_by_itself, read_dump


class Engine:
    """One queue on one server."""

    def __init__(self, client: redis.Redis, note_call: Callable[[], None] = lambda: None) -> None:
        """`note_call` is told of each call that is made for the first time."""
        self.client = client
        self.note_call = note_call
        self.scripts = Scripts(client, replaced_includes=slow_includes())
        self.clock = Clock(client, self.scripts.keys)
        self.sent: list[tuple[Script, tuple[Argument, ...]]] = []
        self._scripts = assemble(slow_includes()).scripts
        self._kept: list[Call] = []
        self._journal_at = "-"

    def tell(self, name: str, *arguments: Argument, deliveries: int = 1) -> Any:
        """Make a call of a script, which arrives `deliveries` times; its first answer."""
        script = self._scripts[name]
        self.note_call()
        if not script.takes_token:
            answers = [self.scripts.call(script, *arguments) for _ in range(deliveries)]
            return answers[0]
        call = self.scripts.prepare(script, *arguments)
        if deliveries > 2:
            self._kept.append(call)  # its caller makes no other call, so it may be made again much later
        answers = [call.run() for _ in range(deliveries)]
        assert answers == answers[:1] * deliveries, "a call made again was answered differently"
        self.sent.append((call.script, call.arguments))
        return answers[0]

    def deliver_late(self, index: int) -> None:
        """One of the calls ever sent arrives once more; it must change nothing."""
        with nothing_ends_by_itself(self.client, self.scripts.keys):
            self._deliver_late(*self.sent[index % len(self.sent)])

    def _deliver_late(self, script: Script, arguments: tuple[Argument, ...]) -> None:
        dump = self.dump()
        before = dump.contents()
        try:
            answer = self.scripts.execute(script, arguments)
        except StaleCall:
            pass
        else:
            # Not refused: then its caller has made no later call, so its number is the highest of that name.
            numbers = [sent[1] for _, sent in self.sent if sent[0] == arguments[0]]
            assert arguments[1] == max(numbers)  # type: ignore[type-var]
            for grant in read_exchange(answer).admission.grants if script.name == "exchange" else ():
                meta = dump[f"meta:{grant.execution_id}"].hash
                assert (meta["state"], meta["nonce"]) == ("RUNNING", grant.nonce), "a lost grant was given again"
        assert self.dump().contents() == before, "a late call had an effect"

    def dump(self) -> Dump:
        """All keys."""
        return read_dump(self.client, self.scripts.keys)

    def new_journal(self) -> list[dict[str, str]]:
        """Entries written since this was last asked, in order."""
        raw: list[Any] = self.client.xrange(self.scripts.keys.named("journal"), min=self._journal_at)  # type: ignore[assignment]
        if raw:
            self._journal_at = "(" + raw[-1][0].decode()
        return [{name.decode(): value.decode() for name, value in fields.items()} for _, fields in raw]
