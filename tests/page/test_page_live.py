"""How the page follows what happens, in the module that all tabs of a browser share."""

from installation import Installation
from looking import Look

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
    told = page.evaluate(f"() => Promise.race([({ANEW})(), new Promise((done) => setTimeout(done, 15_000, false))])")
    assert told, "it said that it was live, and followed nothing"
