"""The dashboards as they are in their files, and what each of their panels and variables asks Prometheus."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "configs" / "grafana"
VARIABLE: Final = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True, slots=True)
class Asked:
    """One expression of one panel."""

    dashboard: str
    panel: str
    letter: str
    expression: str

    def filled(self, values: Mapping[str, str]) -> str:
        """The expression as Grafana sends it: with the values of its variables."""
        return VARIABLE.sub(lambda found: values[found[1]], self.expression)

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.panel}: {self.letter}"


def dashboards() -> dict[str, dict[str, Any]]:
    """By the name of the file."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.json"))}


def panels_of(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those that show something."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def all_asked() -> list[Asked]:
    """Every expression of every panel."""
    return list(_asked())


def _asked() -> Iterator[Asked]:
    for name, dashboard in dashboards().items():
        for panel in panels_of(dashboard):
            for target in panel["targets"]:
                yield Asked(name, panel["title"], target["refId"], target["expr"])
