"""The dashboards: each number says its unit and how it is computed, and links lead on."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest

from prometheus.dashboards import ROOT, VARIABLE, Asked, all_asked, dashboards, panels_of
from prometheus.rules import promtool

pytestmark = pytest.mark.slow

DOCUMENT: Final = ROOT / "docs" / "metrics.md"
BY_GRAFANA: Final = {"__rate_interval": "5m", "__range": "1h"}
"""Variables that Grafana itself fills."""
LISTED: Final = re.compile(r"label_values\((.+), (\w+)\)")

each_dashboard = pytest.mark.parametrize("name", dashboards())
each_asked = pytest.mark.parametrize("asked", all_asked(), ids=str)


def metrics_of_document() -> set[str]:
    """Every name of docs/metrics.md, those of a histogram's parts written out."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return set(re.findall(r"`((?:bandmaster|queue)_[a-z_]+)`", text))


def selectors_of(expression: str) -> Iterator[Any]:
    """What it selects, as promql-parser reads it."""
    found = list[Any]()

    def look(each: Any) -> bool:
        if isinstance(each, promql_parser.VectorSelector):
            found.append(each)
        return True

    promql_parser.walk(promql_parser.parse(expression), look)
    yield from found


def variables_of(name: str) -> dict[str, Any]:
    return {each["name"]: each for each in dashboards()[name]["templating"]["list"]}


@each_dashboard
def test_it_can_be_found_and_leads_to_the_others(name: str) -> None:
    dashboard = dashboards()[name]
    assert dashboard["uid"] == f"bandmaster-{name}"
    assert len(dashboard["uid"]) <= 40, "Grafana takes no more"
    assert dashboard["tags"] == ["bandmaster"]
    assert dashboard["description"]
    assert dashboard["schemaVersion"] == 41
    (links,) = dashboard["links"]
    assert (links["tags"], links["includeVars"], links["keepTime"]) == (["bandmaster"], True, True)


@each_dashboard
def test_each_panel_has_a_unit_and_says_how_its_numbers_are_computed(name: str) -> None:
    for panel in panels_of(dashboards()[name]):
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        asked = {selector.name for target in panel["targets"] for selector in selectors_of(plain(target["expr"]))}
        named = set(re.findall(r"\b(?:bandmaster|queue)_[a-z_]+", panel["description"]))
        assert {re.sub("_bucket$", "", metric) for metric in asked} == named, panel["title"]
        assert panel["description"].endswith("."), panel["title"]


@each_dashboard
def test_panels_have_numbers_of_their_own_and_do_not_overlap(name: str) -> None:
    dashboard = dashboards()[name]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for one, other in combinations([panel["gridPos"] for panel in dashboard["panels"]], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in dashboard["panels"])


@each_asked
def test_an_expression_is_one_of_prometheus_and_of_metrics_that_are_documented(asked: Asked) -> None:
    selectors = list(selectors_of(plain(asked.expression)))
    assert selectors
    assert {selector.name for selector in selectors} <= metrics_of_document() | buckets()
    for selector in selectors:
        assert "job" in {matcher.name for matcher in selector.matchers.matchers}, "another installation's may be there"


def plain(expression: str) -> str:
    """With a value for each variable."""
    return VARIABLE.sub(lambda found: BY_GRAFANA.get(found[1], "x"), expression)


def buckets() -> set[str]:
    return {f"{metric}_bucket" for metric in metrics_of_document()}


@each_dashboard
def test_variables_are_those_that_are_used_and_list_labels_of_documented_metrics(name: str) -> None:
    variables = variables_of(name)
    used = {found for asked in all_asked() if asked.dashboard == name for found in VARIABLE.findall(asked.expression)}
    assert used - BY_GRAFANA.keys() == variables.keys() - {"datasource"}
    assert next(iter(variables)) == "datasource", "the others ask it"
    assert variables["datasource"]["query"] == "prometheus"
    for variable in list(variables.values())[1:]:
        listed = LISTED.fullmatch(variable["query"]["query"])
        assert listed, variable
        (selector,) = selectors_of(plain(listed[1]))
        assert selector.name in metrics_of_document()


def test_a_click_on_an_action_leads_to_its_dashboard() -> None:
    links = [
        link
        for panel in panels_of(dashboards()["overview"])
        for link in panel["fieldConfig"]["defaults"].get("links", [])
    ]
    (link,) = links
    uid, variable = re.findall(r"/d/([\w-]+)\?var-(\w+)=", link["url"])[0]
    assert uid in {dashboard["uid"] for dashboard in dashboards().values()}
    assert variable in variables_of(uid.removeprefix("bandmaster-"))


@pytest.mark.parametrize(
    ("redis", "ledger", "both"), [("1", "1", "1"), ("1", "0", "0"), ("0", "1", "0"), ("1", "_", "1"), ("0", "_", "0")]
)
def test_what_is_away_is_seen_though_the_other_answers(redis: str, ledger: str, both: str, tmp_path: Path) -> None:
    """`_`: no such series, as without a ledger."""
    (asked,) = [each for each in all_asked() if each.panel == "Redis and SQL answer"]
    values = {"bandmaster_redis_up": redis, "bandmaster_ledger_up": ledger}
    scraped = [{"series": f'{name}{{job="x",instance="a"}}', "values": value} for name, value in values.items()]
    expected = {"expr": plain(asked.expression), "exp_samples": [{"labels": '{job="x"}', "value": int(both)}]}
    tried = {"input_series": scraped, "promql_expr_test": [expected]}
    (tmp_path / "tried.yml").write_text(json.dumps({"tests": [tried]}))  # JSON is YAML
    done = promtool("test", "rules", tmp_path / "tried.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_documents_name_each_dashboard() -> None:
    named = set(re.findall(r"configs/grafana/([\w-]+)\.json", DOCUMENT.read_text(encoding="utf-8")))
    assert named == dashboards().keys()
