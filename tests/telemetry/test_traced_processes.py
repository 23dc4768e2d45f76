"""`opentelemetry-instrument` and a Dramatiq worker, as real processes, export to a receiver over OTLP/HTTP."""

import sys
from pathlib import Path

import pytest
from processes import PROGRAMS, receiving

from waiting import wait_until

pytestmark = pytest.mark.slow

APPLICATION = """
import os, sys, dramatiq
from bandmaster import BandedRedisBroker
dramatiq.set_broker(BandedRedisBroker(url=os.environ["URL"]))

@dramatiq.actor(band="HIGH")
def work(number):
    pass

if __name__ == "__main__":
    work.send_with_options(args=(1,), delay=50)
"""


@pytest.mark.usefixtures("redis_client")
def test_one_trace_goes_from_the_sending_process_to_the_worker(redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "traced_app.py").write_text(APPLICATION)
    with receiving(tmp_path, URL=redis_url, PYTHONPATH=str(tmp_path)) as traced:
        traced.run(sys.executable, "traced_app.py")
        with traced.running(str(PROGRAMS / "dramatiq"), "traced_app", "--processes", "1", "--threads", "1"):
            process = wait_until(lambda: traced.named("process default"), what="the attempt's span")
    (send,) = traced.named("send default")
    assert [(each.trace_id, each.parent_span_id) for each in process] == [(send.trace_id, send.span_id)]
