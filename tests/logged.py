"""What our loggers have said, as records that pytest has kept."""

from typing import Any

import pytest

from bandmaster.configs.logger import RECORD_ATTRIBUTE


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The names of our events, in order."""
    return [said["event"] for said in _said(caplog)]


def context_of(caplog: pytest.LogCaptureFixture, event: str) -> dict[str, Any]:
    """What the first event of that name was said with."""
    return next(said for said in _said(caplog) if said["event"] == event)


def _said(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record)[RECORD_ATTRIBUTE] for record in list(caplog.records) if RECORD_ATTRIBUTE in vars(record)]
