"""The alerts and the verdicts that the product gives have the same names, severities and numbers."""

import re
from typing import Final

from bandmaster.scheduler import verdicts
from bandmaster.scheduler.verdicts import SEVERITY, VerdictCode
from prometheus.rules import alerts

NOT_TOLD: Final = {"redis_away", "metrics_missing"}
"""Without Redis nobody could say anything, and the product does not know who scrapes it."""
NUMBERS: Final = {
    VerdictCode.QUEUE_HALF_FULL: verdicts.HALF_FULL,
    VerdictCode.QUEUE_NEARLY_FULL: verdicts.NEARLY_FULL,
    VerdictCode.QUEUE_LONG: verdicts.MANY_WAITING,
    VerdictCode.OLDEST_WAIT_LONG: verdicts.OLD_SECONDS,
    VerdictCode.SLOTS_FREE_WHILE_WORK_WAITS: verdicts.UNTAKEN_SECONDS,
    VerdictCode.NO_PROGRESS: verdicts.STANDSTILL_SECONDS,
    VerdictCode.LEDGER_NOT_WRITTEN: verdicts.UNWRITTEN_SECONDS,
    VerdictCode.NOTIFICATIONS_FAIL: verdicts.UNDELIVERED_SECONDS,
    VerdictCode.LEDGER_BEHIND: verdicts.BEHIND_ENTRIES,
}
"""What a rule's expression compares with."""


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def seconds(duration: str) -> int:
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3_600}[duration[-1]]


def test_each_alert_is_a_verdict_of_the_same_severity() -> None:
    severities = {snake(alert.name): alert.labels["severity"] for alert in alerts()}
    assert severities.keys() - NOT_TOLD == set(VerdictCode)
    assert {code: severities[code] for code in VerdictCode} == SEVERITY


def test_the_rules_compare_with_the_numbers_of_the_verdicts() -> None:
    compared = {snake(alert.name): re.findall(r"[<>]=? ([\d.]+)", alert.expression) for alert in alerts()}
    assert {code: [float(number) for number in compared[code]] for code in NUMBERS} == {
        code: [number] for code, number in NUMBERS.items()
    }


def test_the_durations_of_the_others_are_those_of_the_verdicts() -> None:
    by_code = {snake(alert.name): alert for alert in alerts()}
    assert seconds(by_code[VerdictCode.LIMIT_REACHED].lasts) == verdicts.LIMITED_SECONDS
    (window,) = re.findall(r"\[(\w+)\]", by_code[VerdictCode.DEAD_LETTERS_GROW].expression)
    assert seconds(window) == verdicts.DEAD_LETTERS_SECONDS
