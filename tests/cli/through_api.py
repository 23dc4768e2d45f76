"""Commands sent to the API of a running stack, and what is the same wherever they are sent."""

import re
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from cli.driving import Answer, Driver, driving, running
from pydantic import JsonValue
from receiver import SECRET

from waiting import wait_until

NOTIFYING: Final = {"BANDMASTER_NOTIFY__SECRET": SECRET, "BANDMASTER_NOTIFY__PRIVATE_NETWORKS": "127.0.0.0/8"}
"""Receivers of the tests are on this machine."""
_STARTED: Final = re.compile(r"api_started.*url=(\S+)")
_VARYING: Final = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT[0-9:.]+Z"), "AT"),
    (re.compile(r"\b(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\b"), "AT"),
    (re.compile(r"\b(\d+m \d\ds|\d+h \d\dm|[\d.]+ (ms|s)\b)"), "TOOK"),
    # Its state is told by whoever may see the execution; the API says as much to everybody.
    (re.compile(r"execution '[^']+' was not accepted: that id is taken .* under a new id"), "TAKEN"),
    (re.compile(r"the id '[^']+' is taken: send it under another one"), "TAKEN"),
    (re.compile(r' +(?=AT|TOOK|#|TIME)|(?<="asked_ms_ago": )\d+|(?<=asked_ms_ago": )\d+'), ""),
)


@dataclass(frozen=True)
class Sides:
    """One folder's commands, beside Redis and through its API."""

    driver: Driver
    url: str

    @property
    def options(self) -> tuple[str, ...]:
        """What is typed before a command for the API."""
        return ("--url", self.url, "--token-file", "var/api-token")

    def beside(self, *arguments: str) -> Answer:
        """A command beside Redis."""
        return self.driver.run(*arguments)

    def through(self, *arguments: str) -> Answer:
        """The same through the API."""
        return self.driver.run(*self.options, *arguments)


@contextmanager
def running_sides() -> Generator[Sides]:
    """In a folder of their own, where everything runs."""
    with driving() as driver:
        driver.environment |= NOTIFYING
        with running(driver) as up:
            (url,) = wait_until(lambda: _STARTED.findall(up.err)[:1], what="the API")
            yield Sides(driver, url)
            assert up.end(signal.SIGINT, up.family()) == 130


def constant(text: str) -> str:
    """An output without ids, times and durations."""
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return text


def constant_json(document: JsonValue) -> JsonValue:
    """The same of a JSON document."""
    match document:
        case dict():
            timed = {name for name in document if name == "ms" or name.endswith("_ms_ago")}
            return {name: constant_json(value) for name, value in document.items() if name not in timed}
        case list():
            return [constant_json(value) for value in document]
        case str():
            return constant(document)
        case _:
            return document


def told_of(whole: JsonValue, other: JsonValue, untold: frozenset[str]) -> JsonValue:
    """Of a document, what is in another one, but for members that may be missing there."""
    if isinstance(whole, dict) and isinstance(other, dict):
        kept = [name for name in whole if name in other or name not in untold]
        return {name: told_of(whole[name], other.get(name), untold) for name in kept}
    if isinstance(whole, list) and isinstance(other, list):
        pairs = zip(whole, other, strict=False)
        return [told_of(ours, theirs, untold) for ours, theirs in pairs] + whole[len(other) :]
    return whole
