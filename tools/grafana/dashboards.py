"""Dashboards as Grafana reads them: their variables, the links between them, and the place of each panel.

In the flow: `__main__.py` writes the texts. A dashboard's uid never changes, since addresses contain it.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from .expressions import INSTALLATION
from .panels import PROMETHEUS, Panel, model_of

SCHEMA_VERSION: Final = 41
"""Of Grafana 12."""
TAG: Final = "bandmaster"
COLUMNS: Final = 24


@dataclass(frozen=True, slots=True)
class Variable:
    """What is chosen at the top of a dashboard: values of a label."""

    name: str
    title: str
    asked: str
    """The call of Grafana that lists the values."""
    several: bool = False
    """Whether more than one may be chosen, and at first all are."""


JOB: Final = Variable("job", "Installation", "label_values(bandmaster_redis_up, job)")
LANES: Final = Variable("lane", "Lane", f"label_values(bandmaster_active{{{INSTALLATION}}}, lane)", several=True)


@dataclass(frozen=True, slots=True)
class Row:
    """A headline, and the panels under it."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One dashboard."""

    name: str
    """Of its file; its uid has it, too."""
    title: str
    text: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def uid(self) -> str:
        """What addresses and links call it."""
        return f"bandmaster-{self.name}"


def text_of(dashboard: Dashboard) -> str:
    """The text of its file."""
    return json.dumps(_model_of(dashboard), indent=1, ensure_ascii=False) + "\n"


def _model_of(dashboard: Dashboard) -> dict[str, Any]:
    links = {"type": "dashboards", "title": "Bandmaster", "tags": [TAG], "includeVars": True, "keepTime": True}
    return {
        "uid": dashboard.uid,
        "title": f"Bandmaster / {dashboard.title}",
        "description": dashboard.text,
        "tags": [TAG],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "",
        "links": [links],
        "templating": {"list": [_SOURCE, *(_variable(each) for each in (JOB, *dashboard.variables))]},
        "annotations": {"list": []},
        "panels": list(_placed(dashboard)),
    }


_SOURCE: Final = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    model: dict[str, Any] = {
        "name": variable.name,
        "label": variable.title,
        "type": "query",
        "datasource": PROMETHEUS,
        "query": {"refId": variable.name, "query": variable.asked},
        "refresh": 2,
        "sort": 1,
    }
    if variable.several:
        everything = {"text": ["All"], "value": ["$__all"]}
        model |= {"multi": True, "includeAll": True, "allValue": ".*", "current": everything}
    return model


def _placed(dashboard: Dashboard) -> "list[dict[str, Any]]":
    """Panels from left to right, and the next line below the highest of this one."""
    models: list[dict[str, Any]] = []
    y = 0
    for row in dashboard.rows:
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        models.append({"id": len(models) + 1, "type": "row", "title": row.title, "gridPos": place, "panels": []})
        x, y, height = 0, y + 1, 0
        for panel in row.panels:
            if x + panel.width > COLUMNS:
                x, y, height = 0, y + height, 0
            models.append(model_of(panel, len(models) + 1, x, y))
            x, height = x + panel.width, max(height, panel.height)
        y += height
    return models
