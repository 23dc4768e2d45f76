"""``QueueOutput``: what executions print, beside Redis: from the pod while that exists, else the stored end of it.

In the flow: one side of `port.Output`; reads only. Followed through retries, each attempt has a pod of its own.
"""

import time
from collections.abc import Iterator
from typing import Final

from bandmaster.cli.desk.told import Read
from bandmaster.cli.notes import note
from bandmaster.cli.opening import Opened
from bandmaster.configs.errors import SettingsError
from bandmaster.k8s.errors import PodError
from bandmaster.k8s.pods import Pods, pod_name
from bandmaster.scheduler.engine.record import Record, read_records, read_result
from bandmaster.scheduler.model.errors import UnknownExecution

POLL_SECONDS: Final = 0.2


class QueueOutput:
    """What the executions of a queue beside Redis print."""

    is_raw = True
    is_followed = True

    def __init__(self, bandmaster: Opened) -> None:
        self._bandmaster = bandmaster

    def reads(self, execution_id: str, tail_bytes: int | None, *, follow: bool) -> Iterator[Read]:
        """The output of the latest attempt; followed, of each attempt until it has ended."""
        pods = self._pods()
        if not follow:
            yield self._read(pods, self._record(execution_id), tail_bytes)
            return
        followed = 0
        while True:
            record = self._record(execution_id)
            if record.attempt > followed and (record.pod is not None or record.ended):
                yield self._read(pods, record, tail_bytes, follow=True)
                followed, tail_bytes = record.attempt, None
            elif record.ended:
                return
            else:
                time.sleep(POLL_SECONDS)

    def _pods(self) -> Pods | None:
        try:
            return self._bandmaster.pods()
        except (PodError, SettingsError) as error:
            note(f"only what is stored can be shown: {error}")
            return None

    def _record(self, execution_id: str) -> Record:
        record = read_records(self._bandmaster.queue.views, [execution_id]).get(execution_id)
        if record is None:
            raise UnknownExecution(execution_id=execution_id)
        return record

    def _read(self, pods: Pods | None, record: Record, tail_bytes: int | None, *, follow: bool = False) -> Read:
        """The output of the current attempt."""
        if pods is not None and record.attempt:
            try:
                name = record.pod or pod_name(record.execution_id, record.attempt)
                return Read("pod", pods.logs(name, follow=follow, tail_bytes=tail_bytes))
            except PodError:
                pass  # The pod was collected or is not created yet: there is only the stored result.
        result = read_result(self._bandmaster.queue.views, record.execution_id)
        if result is None:
            if not follow:
                note(f"{record.execution_id} has printed nothing that is kept; it is {record.state}")
            return Read("none", iter(()))
        if result.output_truncated:
            note("its pod is gone; this is the stored end of its output")
        data = result.output_tail.encode()
        return Read("result", iter([data if tail_bytes is None else data[len(data) - min(tail_bytes, len(data)) :]]))
