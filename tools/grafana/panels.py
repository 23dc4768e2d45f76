"""Panels: what each shows, in which unit, how it is computed, and what Grafana reads of that.

In the flow: a dashboard's module lists them, `dashboards.py` gives each its place. A panel has no setting but those
that differ from panel to panel, so that the files stay short.
"""

from dataclasses import dataclass
from enum import StrEnum
from string import ascii_uppercase
from typing import Any, Final

PROMETHEUS: Final = {"type": "prometheus", "uid": "${datasource}"}


class Unit(StrEnum):
    """Grafana's names of units."""

    NUMBER = "short"
    PER_SECOND = "suffix:/s"
    SECONDS = "s"
    RATIO = "percentunit"
    YES_OR_NO = "bool_yes_no"


class Kind(StrEnum):
    """Grafana's names of panels."""

    LINES = "timeseries"
    FIGURE = "stat"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Query:
    """One expression."""

    expression: str
    name: str
    """Of its series, with `{{label}}` where they differ; in a table, of its column."""
    unit: Unit | None = None
    """Of its column in a table, where it is another than the panel's."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel."""

    title: str
    counted: str
    """What its numbers count: the axis says it."""
    how: str
    """How they are computed."""
    unit: Unit
    queries: tuple[Query, ...]
    kind: Kind = Kind.LINES
    width: int = 8
    """Of 24."""
    stacked: bool = False
    leads_to: str = ""
    """Where a click on a series leads: its title, a space, its address."""

    @property
    def height(self) -> int:
        """In Grafana's rows."""
        return 4 if self.kind is Kind.FIGURE else 8


def lines(title: str, counted: str, unit: Unit, how: str, *queries: Query, **more: Any) -> Panel:
    """A panel of lines over time."""
    return Panel(title, counted, how, unit, queries, **more)


def figure(title: str, counted: str, unit: Unit, how: str, expression: str, name: str = "") -> Panel:
    """A panel of one number, or of one for each series."""
    return Panel(title, counted, how, unit, (Query(expression, name or counted),), Kind.FIGURE, width=4)


def table(title: str, counted: str, unit: Unit, how: str, *queries: Query, width: int = 24) -> Panel:
    """A panel with a row for each series and a column for each query."""
    return Panel(title, counted, how, unit, queries, Kind.TABLE, width)


def model_of(panel: Panel, number: int, x: int, y: int) -> dict[str, Any]:
    """What Grafana reads of a panel at its place."""
    model: dict[str, Any] = {
        "id": number,
        "type": panel.kind.value,
        "title": panel.title,
        "description": panel.how,
        "datasource": PROMETHEUS,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": _defaults(panel), "overrides": _overrides(panel)},
        "options": _OPTIONS[panel.kind],
        "targets": [
            _target(panel, query, letter) for query, letter in zip(panel.queries, ascii_uppercase, strict=False)
        ],
    }
    if panel.kind is Kind.TABLE:
        names = {f"Value #{letter}": query.name for query, letter in zip(panel.queries, ascii_uppercase, strict=False)}
        columns = {"excludeByName": {"Time": True}, "renameByName": names}
        model["transformations"] = [{"id": "merge", "options": {}}, {"id": "organize", "options": columns}]
    return model


_OPTIONS: Final[dict[Kind, dict[str, Any]]] = {
    Kind.LINES: {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    Kind.FIGURE: {"colorMode": "none", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}},
    Kind.TABLE: {"showHeader": True},
}


def _defaults(panel: Panel) -> dict[str, Any]:
    defaults: dict[str, Any] = {"unit": panel.unit.value, "min": 0}
    if panel.kind is Kind.LINES:
        custom: dict[str, Any] = {"axisLabel": panel.counted, "fillOpacity": 10, "showPoints": "never"}
        if panel.stacked:
            custom |= {"fillOpacity": 40, "stacking": {"mode": "normal", "group": "A"}}
        defaults["custom"] = custom
    if panel.leads_to:
        title, _, url = panel.leads_to.rpartition(" ")
        defaults["links"] = [{"title": title, "url": url}]
    return defaults


def _overrides(panel: Panel) -> list[dict[str, Any]]:
    """Lines of limits are dashed; columns have units of their own."""
    if panel.kind is Kind.TABLE:
        return [
            {
                "matcher": {"id": "byName", "options": query.name},
                "properties": [{"id": "unit", "value": query.unit.value}],
            }
            for query in panel.queries
            if query.unit is not None
        ]
    if panel.kind is Kind.LINES and any("limit" in query.name for query in panel.queries):
        dashed = {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}}
        unfilled = {"id": "custom.fillOpacity", "value": 0}
        return [{"matcher": {"id": "byRegexp", "options": "/limit/"}, "properties": [dashed, unfilled]}]
    return []


def _target(panel: Panel, query: Query, letter: str) -> dict[str, Any]:
    target: dict[str, Any] = {"refId": letter, "expr": query.expression, "legendFormat": query.name}
    if panel.kind is Kind.TABLE:
        target |= {"instant": True, "range": False, "format": "table"}
    return target
