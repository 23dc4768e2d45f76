"""Writes the OpenAPI document of the API: ``python -m bandmaster.admin.describing``.

In the flow: docs/reference/openapi.json is its output, and a test compares the two; so a change of the API shows in a
review, and one that takes something away is refused.
"""

import json
import sys
from typing import Any, cast

from .application import build
from .services import Services


def described() -> dict[str, Any]:
    """Return the document. Nothing is opened for it."""
    document = build(cast("Services", None)).openapi()
    # What it offers, not which release does.
    document["info"]["version"] = "1"
    return document


if __name__ == "__main__":
    sys.stdout.write(json.dumps(described(), indent=1, ensure_ascii=False, sort_keys=True) + "\n")
