"""The API's own figures: by template, never by what callers send; a stream counts when it begins and while it lasts."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from calling import V1
from running import Start, local_token, start
from scraped import Series, scrape_port, value
from starlette.routing import compile_path

from bandmaster.admin.measuring import Measuring, template_of
from waiting import wait_until

__all__ = ["local_token", "start"]

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"
REQUESTS, SECONDS, STREAMS = "bandmaster_api_requests_total", "bandmaster_api_request_seconds", "bandmaster_api_streams"
PREFIXES = (f"{V1}/admin/executions", f"{V1}/admin", f"{V1}/executions", V1, "")
"""Where routers are included, the longest first."""
ONE = f"{V1}/executions/{{execution_id}}"


def metrics_of(said: list[dict[str, object]]) -> Series:
    (port,) = [each["port"] for each in said if each.get("event") == "metrics_served"]
    assert isinstance(port, int)
    return scrape_port(port)


@pytest.mark.slow
def test_requests_are_counted_by_template_and_streams_while_they_last(
    start: Start, local_token: Callable[[], dict[str, str]]
) -> None:
    running = start(metrics__api_port="0")
    url = running.url()
    head = local_token()
    for name in ("one", "two"):  # nobody has written a ledger that would know them
        assert httpx.get(f"{url}{V1}/executions/{name}", headers=head).status_code == 503
    assert httpx.get(f"{url}{V1}/whoami").status_code == 401
    assert httpx.get(f"{url}{V1}/whoami", headers=head | {"Host": "elsewhere.example"}).status_code >= 400
    assert httpx.request("BREW", f"{url}/nowhere/at/all", headers=head).status_code >= 400
    with httpx.stream("GET", f"{url}{V1}/events", headers=head, timeout=60) as events:
        pieces = events.iter_bytes()  # whoever lets go of it closes the stream
        next(pieces)
        series = metrics_of(running.said())
        assert value(series, STREAMS, route=f"{V1}/events") == 1
        assert value(series, REQUESTS, method="GET", route=f"{V1}/events", status="2xx") == 1
    assert value(series, REQUESTS, method="GET", route=ONE, status="5xx") == 2
    assert value(series, f"{SECONDS}_count", method="GET", route=ONE) == 2
    assert value(series, REQUESTS, method="GET", route=f"{V1}/whoami", status="4xx") == 1
    assert value(series, REQUESTS, method="other", route="other", status="4xx") == 1
    routes = {dict(labels)["route"] for _, labels in series}
    assert not [route for route in routes if "one" in route.split("/") or "nowhere" in route]
    wait_until(
        lambda: value(metrics_of(running.said()), STREAMS, route=f"{V1}/events") == 0,
        what="the stream's end",
        timeout_seconds=60,
    )
    assert running.end() == 0


def test_every_route_of_the_api_has_its_whole_template() -> None:
    """As the document has it, whatever stands in place of its names; no other path has one."""
    document = json.loads((DOCUMENT.parent / "reference" / "openapi.json").read_text(encoding="utf-8"))
    assert len(document["paths"]) > 30
    for path in document["paths"]:
        # As its router has it: without one of these.
        (relative, *_) = [path.removeprefix(prefix) for prefix in PREFIXES if path.startswith(prefix)]
        own, template, _ = compile_path(relative)
        asked = re.sub(r"{[^}]*}", "asked", path)
        assert template_of(asked, own, template) == path
        assert template_of(f"/more{asked}", own, template) == "other"
    gate, template, _ = compile_path("/limits/{gate:path}")
    assert template_of(f"{V1}/limits/region:a/b", gate, template) == f"{V1}/limits/{{gate}}"


def test_what_it_serves_is_named() -> None:
    named = set(re.findall(r"`(bandmaster_api_[a-z_]+)`", DOCUMENT.read_text(encoding="utf-8")))
    assert {re.sub(r"_(total|bucket)$", "", name) for name in named} == {one.name for one in Measuring().collect()}
