"""``ApiOutput``: what executions print, through the admin API: the end of it, as text.

In the flow: one side of `port.Output`; reads only.
"""

from collections.abc import Iterator
from typing import Any, Final

from bandmaster.admin.client import calls
from bandmaster.cli.desk.told import Read
from bandmaster.cli.notes import note

MOST_BYTES: Final = 1_048_576
"""The most that the API gives of an output."""


class ApiOutput:
    """What the executions that an API tells of print. Every method raises ApiProblem and ApiUnavailable."""

    is_raw = False
    is_followed = False

    def __init__(self, client: Any) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings."""
        self._send = client.send

    def reads(self, execution_id: str, tail_bytes: int | None, *, follow: bool) -> Iterator[Read]:
        """The output of the latest attempt."""
        wanted = MOST_BYTES if tail_bytes is None else tail_bytes
        # The API gives a byte at least; for none, it is asked whether there is such an execution.
        answer = self._send(calls.logs(execution_id, min(max(wanted, 1), MOST_BYTES)))
        if answer.source == "none" and answer.withheld:
            note("the API may not read what pods print: it shows the end of it when the execution has ended")
        elif answer.source == "none":
            state = self._send(calls.show(execution_id)).state
            note(f"{execution_id} has printed nothing that is kept; it is {state}")
        elif answer.truncated and (tail_bytes is None or tail_bytes > MOST_BYTES):
            note("this is the end of its output: the API has, or gives, no more")
        yield Read(answer.source, iter([answer.output.encode()] if wanted else []))
