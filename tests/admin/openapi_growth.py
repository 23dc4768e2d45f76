"""What one OpenAPI document had that a later one has not: version 1 of the API only grows.

References are followed, so that a part may move between the operations and the components, or have another name there.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, Final, cast

_TOLD: Final = {"description", "summary", "title", "examples", "operationId", "tags", "default"}
"""What is for people."""
_UNKNOWN: Final = {"ge", "gt", "le", "lt"}
"""What readers of JSON Schema ignore: Pydantic's words for bounds."""


def resolved(document: dict[str, Any], part: Any) -> Any:
    """A part of a document, or what it refers to."""
    while isinstance(part, dict) and "$ref" in part:
        found: Any = document
        for name in cast("str", part["$ref"]).removeprefix("#/").split("/"):
            found = found[name]
        part = found
    return cast("Any", part)


def taken_away(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Routes, parameters, answers, their fields, allowed values; and what is newly demanded of callers."""
    gone: list[str] = []

    def compare(old: Any, new: Any, at: str) -> None:
        old, new = resolved(before, old), resolved(after, new)
        if at.endswith("/parameters") and isinstance(new, list):
            old, new = _by_name(before, old), _by_name(after, cast("list[Any]", new))
            gone.extend(f"{at}/{name} required" for name in new if name not in old and new[name].get("required"))
        if isinstance(old, dict) and isinstance(new, dict):
            compare_parts(cast("dict[str, Any]", old), cast("dict[str, Any]", new), at)
        elif isinstance(old, list) and isinstance(new, list):
            compare_lists(cast("list[Any]", old), cast("list[Any]", new), at)
        elif at.endswith(("/type", "/const", "/format")) and old != new:
            gone.append(f"{at} {old}")

    def compare_parts(old: dict[str, Any], new: dict[str, Any], at: str) -> None:
        # Of a schema it is a list, and of a parameter true or false. That an answer always has a field is no loss.
        demanded = new.get("required", [])
        if isinstance(demanded, list) and "/requestBody/" in at:
            had = old.get("required", [])
            gone.extend(f"{at}/required {each}" for each in cast("list[Any]", demanded) if each not in had)
        elif demanded is True and not old.get("required"):
            gone.append(f"{at}/required")
        if "responses" in new:
            none: dict[str, Any] = {"parameters": []}
            old, new = none | old, none | new
        for name in old:
            if name in new:
                if name != "required":
                    compare(old[name], new[name], f"{at}/{name}")
            elif name not in _TOLD | _UNKNOWN | {"required"} or at.endswith("/properties"):
                gone.append(f"{at}/{name}")

    def compare_lists(old: list[Any], new: list[Any], at: str) -> None:
        if at.endswith("/enum"):
            gone.extend(f"{at} {each}" for each in old if each not in new)
        elif at.endswith(("/anyOf", "/oneOf", "/allOf")):
            for number, (one, other) in enumerate(zip(old, new, strict=False)):
                compare(one, other, f"{at}/{number}")
            gone.extend(f"{at}/{number}" for number in range(len(new), len(old)))

    # What no operation refers to is told to nobody.
    compare(before["paths"], after["paths"], "/paths")
    return gone


def _by_name(document: dict[str, Any], parameters: list[Any]) -> dict[str, Any]:
    given = [resolved(document, each) for each in parameters]
    return {f"{each['in']} {each['name']}": each for each in given}


def committed_before(file: Path, now: dict[str, Any]) -> dict[str, Any] | None:
    """The last committed version of a document that differs from how it is now; None if no history is at hand."""
    listed = _git(file, "log", "--format=%H", "--", file.name)
    for commit in (listed or "").split():
        shown = _git(file, "show", f"{commit}:./{file.name}")
        if shown is not None and (document := json.loads(shown)) != now:
            return document
    return None


def _git(file: Path, *arguments: str) -> str | None:
    try:
        ran = subprocess.run(["git", *arguments], cwd=file.parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return ran.stdout if ran.returncode == 0 else None
