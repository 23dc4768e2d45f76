"""The rules are what Prometheus takes, each alert fires when it should and only then, and leads to the runbook."""

import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from docs.documents import anchor, headings

from prometheus.rules import ALERTS, FOLDER, RECORDING, ROOT, TESTS, Alert, alerts, promtool, rules_of

RUNBOOK: Final = ROOT / "docs" / "runbook.md"
PUBLISHED: Final = "https://github.com/bandmaster/bandmaster/blob/main/docs/runbook.md#"
RECORDED: Final = re.compile(r"\w+:\w+:\w+")

each_alert = pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)


def tried_of(alert: Alert) -> list[dict[str, Any]]:
    """What promtool tries of it."""
    document: Any = yaml.safe_load((TESTS / f"{alert.name}.yml").read_text(encoding="utf-8"))
    return document["tests"]


def test_prometheus_takes_the_rules() -> None:
    checked = promtool("check", "rules", "--lint-fatal", RECORDING, ALERTS)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    "file", [TESTS.parent / "recording.yml", *sorted(TESTS.glob("*.yml"))], ids=lambda file: file.stem
)
def test_the_rules_say_what_they_should(file: Path) -> None:
    tried = promtool("test", "rules", file)
    assert tried.returncode == 0, tried.stdout + tried.stderr


def test_a_rule_that_says_something_else_is_found(tmp_path: Path) -> None:
    changed = ALERTS.read_text(encoding="utf-8").replace("> 1800", "> 180")
    (tmp_path / "alerts.yml").write_text(changed, encoding="utf-8")
    test = (TESTS / "OldestWaitLong.yml").read_text(encoding="utf-8")
    test = re.sub(r"group_eval_order: .*", "", re.sub(r"rule_files: .*", "rule_files: [alerts.yml]", test))
    (tmp_path / "test.yml").write_text(test, encoding="utf-8")
    tried = promtool("test", "rules", tmp_path / "test.yml")
    assert tried.returncode != 0
    assert "OldestWaitLong" in tried.stdout + tried.stderr


@each_alert
def test_each_alert_is_tried_where_it_fires_and_where_it_does_not(alert: Alert) -> None:
    asked = [[each for each in test["alert_rule_test"] if each["alertname"] == alert.name] for test in tried_of(alert)]
    assert all(asked)
    assert any(any(each["exp_alerts"] for each in test) for test in asked), "none in which it fires"
    assert any(not any(each["exp_alerts"] for each in test) for test in asked), "none in which it never fires"


@each_alert
def test_each_alert_says_how_urgent_it_is_and_leads_to_its_section_of_the_runbook(alert: Alert) -> None:
    assert alert.labels.keys() == {"severity", "service"}
    assert alert.labels["severity"] in {"critical", "warning", "info"}
    assert {"summary", "description", "runbook_url"} == alert.annotations.keys()
    assert alert.annotations["runbook_url"] == PUBLISHED + anchor(alert.name)


def test_the_runbook_has_a_section_for_each_alert_and_for_no_other() -> None:
    assert [each for each in headings(RUNBOOK) if each != "Runbook"] == [alert.name for alert in alerts()]


def test_no_test_is_of_a_rule_that_is_gone() -> None:
    assert {file.stem for file in TESTS.glob("*.yml")} == {alert.name for alert in alerts()}
    recorded: Any = yaml.safe_load((TESTS.parent / "recording.yml").read_text(encoding="utf-8"))
    tried = {each["expr"] for test in recorded["tests"] for each in test["promql_expr_test"]}
    assert {name for each in tried for name in RECORDED.findall(each)} == {
        rule["record"] for rule in rules_of(RECORDING)
    }


def test_the_rules_name_only_metrics_that_are_served_and_figures_that_are_recorded() -> None:
    expressions = " ".join(rule["expr"] for file in (RECORDING, ALERTS) for rule in rules_of(file))
    assert set(RECORDED.findall(expressions)) <= {rule["record"] for rule in rules_of(RECORDING)}
    named = set(re.findall(r"\b(?:bandmaster|queue)_[a-z_]+", RECORDED.sub("", expressions)))
    assert len(named) > 10
    assert named <= set(re.findall(r"`((?:bandmaster|queue)_[a-z_]+)`", (ROOT / "docs" / "metrics.md").read_text()))


def test_both_files_of_rules_are_named_where_metrics_are_explained() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert {file.name for file in FOLDER.iterdir()} == set(re.findall(r"configs/prometheus/(\w+\.yml)", text))
