"""What a scrape answers, by series."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from waiting import wait_until

Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(collector: Collector) -> Series:
    """Ask a collector."""
    registry = CollectorRegistry()
    registry.register(collector)
    return series_of(generate_latest(registry).decode())


def scrape_port(port: int) -> Series:
    """Ask a process over HTTP."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        return series_of(answer.read().decode())


def port_of(log: Path) -> int:
    """The port that a process has chosen, as its log says."""
    found = wait_until(lambda: re.search(r'"port": (\d+)', log.read_text()), what="its port")
    assert found
    return int(found[1])


def series_of(text: str) -> Series:
    """Each series with its value; no two have the same name and labels."""
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def value(series: Series, name: str, **labels: str) -> float | None:
    """The value of one series; None: there is none."""
    return series.get((name, frozenset(labels.items())))
