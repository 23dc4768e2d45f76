"""Makes ``tools`` importable. The repository's root on the path would hide ``tests/middleware`` and its neighbours."""

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "tools"

_found = importlib.util.spec_from_file_location(
    "tools", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
)
assert _found is not None
sys.modules["tools"] = importlib.util.module_from_spec(_found)
