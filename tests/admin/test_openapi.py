"""The API as it describes itself: what stands in the repository is what it says, and version 1 only grows."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, cast

import pytest

from bandmaster.admin.describing import described

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "docs" / "reference" / "openapi.json"
DOCUMENT: Final = described()
OPERATIONS: Final = [
    (f"{method} {path}", operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]


def test_the_reference_is_what_the_api_says() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "bandmaster.admin.describing"], capture_output=True, text=True, check=True
    )
    assert made.stdout == FILE.read_text(), "python -m bandmaster.admin.describing > docs/reference/openapi.json"


def test_it_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1.")
    names = [operation["operationId"] for _, operation in OPERATIONS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("operation", [each for _, each in OPERATIONS], ids=[name for name, _ in OPERATIONS])
def test_each_operation_says_what_it_is_for_and_how_it_refuses(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    for status in ("401", "403", "404", "422", "503"):
        content = operation["responses"][status]["content"]
        assert {"application/problem+json", "application/json"} & set(content)


def committed() -> dict[str, Any] | None:
    """The document of the last commit; None where there is no repository, or it had none."""
    shown = subprocess.run(
        ["git", "show", f"HEAD:{FILE.relative_to(ROOT)}"], cwd=ROOT, capture_output=True, check=False
    )
    return json.loads(shown.stdout) if shown.returncode == 0 else None


def taken_away(before: Any, after: Any, at: str = "") -> list[str]:
    """What a document had that a later one has not: routes, answers' fields, allowed values; what it newly demands."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        told = ("description", "summary", "examples", "required")
        gone = [f"{at}/{name}" for name in old if name not in new and name not in told]
        # Of a schema; a parameter has true or false there.
        demanded: Any = new.get("required") if isinstance(new.get("required"), list) else []
        gone += [f"{at}/required {each}" for each in demanded if _demands(at, each, old)]
        return gone + [one for name in old if name in new for one in taken_away(old[name], new[name], f"{at}/{name}")]
    if isinstance(before, list) and isinstance(after, list) and at.endswith("/enum"):
        return [f"{at} {each}" for each in cast("list[Any]", before) if each not in cast("list[Any]", after)]
    return []


def _demands(at: str, name: str, before: dict[str, Any]) -> bool:
    """Whether a field of a body was not required before. That an answer always has one takes nothing away."""
    sent = ("Submission", "NewPriority", "Cancellation", "NewLimit", "NewSetting", "TokenSent", "MetadataSent")
    return at.endswith(sent) and name not in before.get("required", [])


def test_version_1_only_grows() -> None:
    before = committed()
    if before is not None:
        assert taken_away(before, DOCUMENT) == []


def test_what_is_taken_away_is_found() -> None:
    smaller = json.loads(json.dumps(DOCUMENT))
    del smaller["paths"]["/healthz"]
    del smaller["components"]["schemas"]["Whoami"]["properties"]["owner"]
    smaller["components"]["schemas"]["State"]["enum"].remove("PENDING")
    smaller["components"]["schemas"]["Submission"]["required"] = ["script"]
    assert sorted(taken_away(DOCUMENT, smaller)) == [
        "/components/schemas/State/enum PENDING",
        "/components/schemas/Submission/required script",
        "/components/schemas/Whoami/properties/owner",
        "/paths//healthz",
    ]
    assert taken_away(smaller, DOCUMENT) == []
