"""What people read of the scopes names everything that a scope changes, under the scope that the route needs."""

import inspect
import re
from pathlib import Path

from needed_scopes import NEEDED

from bandmaster.admin.auth import scopes
from bandmaster.admin.page.assets import FOLDER

CHANGES = {
    "set_limit": "limits",
    "set_rate": "rates",
    "set_weight": "weights",
    "pause": "pauses",
    "set_share": "fair lanes",
    "set_schedule": "schedules",
    "change_setting": "settings",
    "create_token": "tokens",
}
"""Operation → what it changes, as people call it."""
TEXTS = {
    "code": inspect.getsource(scopes),
    "page": (FOLDER / "app" / "views" / "tokens.js").read_text(),
    "docs": (Path(__file__).parents[2] / "docs" / "admin-api.md").read_text(),
}
FORMS = {"code": r'    {0} = "{1}"\n    """(.+?)"""', "page": r'  {1}: "(.+?)",', "docs": r"\| `{1}` \| (.+?) \|"}
"""How each says what a scope allows."""


def test_what_a_scope_changes_is_told_of_it() -> None:
    silent = list[str]()
    for operation, changed in CHANGES.items():
        scope = NEEDED[operation]
        for where, text in TEXTS.items():
            told = re.search(FORMS[where].format(scope.name, scope.value), text)
            if told is None or changed not in told[1]:
                silent.append(f"{where}: {operation}")
    assert silent == []
