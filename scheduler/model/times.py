"""Formats the server's times for JSON."""

from datetime import UTC, datetime


def iso_of(unix_ms: int | None) -> str | None:
    """Return a time of the server's clock as JSON shows it: ISO 8601 in UTC, to the millisecond."""
    if unix_ms is None:
        return None
    return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
