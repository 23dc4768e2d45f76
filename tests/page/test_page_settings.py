"""What the page says of the runtime settings, beside those that there are."""

import re
from pathlib import Path

import pytest

from bandmaster.admin.page.assets import FOLDER

pytestmark = pytest.mark.slow

DEFAULTS = Path(__file__).parents[2] / "scheduler" / "lua" / "include" / "setting_defaults.lua"


def test_the_page_says_what_each_setting_is_and_knows_no_other() -> None:
    means = (FOLDER / "app" / "views" / "settings.js").read_text().split("const MEANS = {")[1].split("\n};")[0]
    defaults = DEFAULTS.read_text().split("local DEFAULTS = {")[1].split("\n}")[0]
    there_are = re.findall(r"^ +(\w+) =", defaults, re.MULTILINE)
    assert len(there_are) > 10
    assert re.findall(r'^ +(\w+): "', means, re.MULTILINE) == there_are
