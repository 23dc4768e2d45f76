"""The example's robot works through 200 invoices, with failures of both kinds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from calling import Api

from bandmaster.client import Client, calls

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "invoices.py"


def test_a_robot_works_through_its_invoices(api: Api) -> None:
    with Client(api.url, api.token("root", "admin")) as root:
        root.send(calls.create_item_queue("invoices", max_retries=2, retry_seconds=0))
        token = api.token("desk-7", "robot", queues=("invoices",))
        environment = os.environ | {"BANDMASTER_URL": api.url, "BANDMASTER_TOKEN": token}
        ran = subprocess.run(
            [sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
        again = len([number for number in range(1, 201) if number % 7 == 0 and number % 10])
        assert ran.stdout == f"{200 + again} tries of 200 invoices\n"
        stats = root.send(calls.item_stats("invoices"))
        assert (stats.counts["DONE"], stats.counts["FAILED"], stats.counts["NEW"]) == (180, 20, 0)
        assert (stats.appExceptions, stats.bizExceptions) == (0, 20)
        assert stats.average_processing_seconds is not None
