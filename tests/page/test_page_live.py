"""How the page follows what happens, in the module that all tabs of a browser share."""

import json
from itertools import chain, repeat

import pytest
from playwright.sync_api import expect

from page.looking import Look
from page.served_page import V1, Installation
from waiting import GENEROUS_MS, wait_until

pytestmark = pytest.mark.slow

ANEW = """async () => {
  const address = document.querySelector('link[href$="/live/feed.js"]').href.replace("feed.js", "worker.js");
  await import(address);
  const told = [];
  const until = async (is) => { while (!told.some(is)) await new Promise((done) => setTimeout(done, 20)); };
  const port = { postMessage: (message) => told.push(message) };
  self.onconnect({ ports: [port] });
  port.onmessage({ data: "signed in" });
  await until((each) => each.state === "live");
  // What it was told last waits to be passed on, for half a second.
  port.onmessage({ data: "signed out" });
  await new Promise((done) => setTimeout(done, 700));
  told.length = 0;
  port.onmessage({ data: "signed in" });
  await until((each) => each.news?.reset);
  return true;
}"""


def test_who_signs_out_and_in_again_is_told_what_happens(look: Look, installation: Installation) -> None:
    page = look.signed_in(installation.admin)
    page.wait_for_load_state()
    told = page.evaluate(
        f"() => Promise.race([({ANEW})(), new Promise((done) => setTimeout(done, {GENEROUS_MS}, false))])"
    )
    assert told, "it said that it was live, and followed nothing"


def _event(name: str, **data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


@pytest.mark.nightly
def test_an_output_that_begins_anew_after_a_long_one_is_shown_whole(look: Look, installation: Installation) -> None:
    execution_id = installation.submit("true")
    page = look.signed_in(installation.admin)
    long = _event("output", text="x" * 8000) * 126
    anew = _event("reset") + "".join(_event("output", text=f"line {number}\n") for number in range(50)) + _event("end")
    bodies = chain([long], repeat(anew))
    page.route(
        f"**{V1}/executions/{execution_id}/logs/follow*",
        lambda route: route.fulfill(body=next(bodies), content_type="text/event-stream"),
    )
    look.go(page, f"executions/{execution_id}")
    log = page.get_by_role("log")
    expect(log).to_contain_text("line 49")
    expect(log).to_contain_text("line 0\n")
    expect(log.locator("span")).to_have_count(50)


def test_what_an_ended_execution_waited_for_is_not_asked_again(look: Look, installation: Installation) -> None:
    ended = installation.submit("true", scheduled_at="2099-01-01T00:00:00Z")
    installation.call("POST", f"/executions/{ended}/cancel", {"reason": "not needed"})
    installation.listed(ended, "CANCELLED")
    page = look.signed_in(installation.admin)
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    look.go(page, f"executions/{ended}")

    def is_asked_no_more() -> bool:
        # As when somebody looks at the page again: what may have changed is loaded anew.
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        after = asked[len(asked) - asked[::-1].index("waits") :] if "waits" in asked else []
        return after.count("timeline") >= 4

    wait_until(is_asked_no_more, what="the timeline is asked for again and again, the waits are not")
