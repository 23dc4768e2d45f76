"""Fields of the page take as much as the server does, and no more."""

import re
from pathlib import Path

import pytest

import bandmaster
from bandmaster.scheduler.events.schedule_fields import SCHEDULE_NAME
from bandmaster.scheduler.model.cron import LINE_MAX_CHARS

pytestmark = pytest.mark.slow

VIEWS = Path(bandmaster.__file__).parent / "admin" / "page" / "files" / "app" / "views"


def test_the_form_of_schedules_has_the_bounds_of_schedules() -> None:
    form = (VIEWS / "schedules.js").read_text()
    bounds = {name: int(most) for name, most in re.findall(r'<input name="(\w+)" required maxlength="(\d+)"', form)}
    assert SCHEDULE_NAME.fullmatch("n" * bounds["name"])
    assert not SCHEDULE_NAME.fullmatch("n" * (bounds["name"] + 1))
    assert bounds["cron"] == LINE_MAX_CHARS
