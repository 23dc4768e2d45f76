"""The program that makes the dashboards: what is in their files is what it makes, of what the ledger counts."""

from prometheus.dashboards import FOLDER

from bandmaster.ledger.totals import REASONS_OF_PODS
from tools.grafana import pods
from tools.grafana.all_of_them import DASHBOARDS
from tools.grafana.dashboards import text_of


def test_the_files_are_what_is_made() -> None:
    made = {f"{each.name}.json": text_of(each) for each in DASHBOARDS}
    there = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}
    assert there == made, "make them again: python -m tools.grafana"


def test_the_reasons_of_pods_are_those_that_the_ledger_counts() -> None:
    assert set(pods.REASONS) == REASONS_OF_PODS.keys()
