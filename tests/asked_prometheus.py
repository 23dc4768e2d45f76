"""A real Prometheus, which scrapes what a test names and answers its queries."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

Ask = Callable[[str], list[tuple[dict[str, str], float]]]
"""The labels and the value of each series that answers a query; none as long as Prometheus does not answer."""


def free_port() -> int:
    """One on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextmanager
def scraping(folder: Path, jobs: Mapping[str, Sequence[int]]) -> Generator[Ask]:
    """Run one that scrapes each job's ports twice a second, and keeps all in the folder."""
    program = shutil.which("prometheus")
    if program is None:
        assert os.environ.get("BANDMASTER_REQUIRE_PROMETHEUS") != "1", "prometheus is not installed"
        pytest.skip("needs prometheus: apt-get install prometheus")
    configuration, port = folder / "prometheus.yml", free_port()
    scraped = [
        {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{each}" for each in ports]}]}
        for job, ports in jobs.items()
    ]
    settings = {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": scraped}
    configuration.write_text(json.dumps(settings))  # JSON is YAML
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                *(program, f"--config.file={configuration}", f"--storage.tsdb.path={folder / 'tsdb'}"),
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )

    def ask(query: str) -> list[tuple[dict[str, str], float]]:
        address = f"http://127.0.0.1:{port}/api/v1/query?{urlencode({'query': query})}"
        try:
            with urlopen(address, timeout=10) as answer:
                told: Any = json.load(answer)
        except (URLError, ConnectionError):
            return []
        return [(each["metric"], float(each["value"][1])) for each in told["data"]["result"]]

    try:
        yield ask
    finally:
        process.kill()
        process.wait()
