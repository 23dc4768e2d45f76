"""What panels ask Prometheus. Metrics are those of docs/metrics.md.

Several processes `ledger` serve the same figures: of series that differ only in `instance` or `pod`, the greatest
counts, as in configs/prometheus/recording.yml. All are of the installation that the variable `job` names.
"""

from typing import Final

INSTALLATION: Final = 'job="$job"'
LANE: Final = 'lane=~"$lane"'
EVENTS: Final = 'lane="executions"'
"""The lane of events: what runs as pods is in it alone."""


def now(metric: str, *matchers: str) -> str:
    """A gauge, or a counter as it stands."""
    return _greatest(_selected(metric, matchers))


def per_second(metric: str, *matchers: str) -> str:
    """How fast a counter grows."""
    return _greatest(f"rate({_selected(metric, matchers)}[$__rate_interval])")


def in_range(metric: str, *matchers: str) -> str:
    """By how much a counter grew in the time that the dashboard shows."""
    return _greatest(f"increase({_selected(metric, matchers)}[$__range])")


def total(expression: str, *labels: str) -> str:
    """The sum, by labels if any are given."""
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"sum{by} ({expression})"


def quantile(share: float, metric: str, *matchers: str, by: str = "lane") -> str:
    """The value below which a share of what a histogram counted of late lies."""
    return f"histogram_quantile({share}, {total(per_second(f'{metric}_bucket', *matchers), by, 'le')})"


def _selected(metric: str, matchers: tuple[str, ...]) -> str:
    return f"{metric}{{{', '.join((INSTALLATION, *matchers))}}}"


def _greatest(expression: str) -> str:
    return f"max without (instance, pod) ({expression})"
