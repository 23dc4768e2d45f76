"""Following what an execution prints: what is told, going on where one stopped, who may, and how a stream ends."""

from calling import Api
from following import following
from printing import HELD, Work, ann, path_of, work

from bandmaster.admin.output.telling import MOST_BYTES, Teller
from bandmaster.k8s.output import Piece
from bandmaster.scheduler.engine.settlements import Retry
from waiting import GENEROUS_SECONDS, wait_until

__all__ = ["ann", "work"]


def test_all_is_told_as_it_comes_from_before_it_began_to_its_end(api: Api, work: Work, ann: str) -> None:
    work.send()
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.names() == ["state"], what="the state")
        work.grant()
        pod = work.run(f"echo one; {HELD}; echo two")
        wait_until(lambda: stream.text() == "one\n", what="the first words")
        work.let_go(pod)
        wait_until(lambda: stream.text() == "one\ntwo\n", what="the last words")
        work.ended(pod)
        assert not stream.ended.wait(0.2), "its end is not known yet"
        work.settle()
        assert stream.ended.wait(GENEROUS_SECONDS)
    states = [each["data"]["state"] for each in stream.events if each["event"] == "state"]
    assert (states[0], states[-1]) == ("PENDING", "COMPLETED")
    told = [each for each in stream.events if each["event"] != "state"]
    assert [each["event"] for each in told] == ["attempt", "output", "output", "end"]
    assert told[0]["data"] == {"attempt": 1}
    assert (told[1]["id"], told[1]["data"]) == ("1.4", {"attempt": 1, "position": 0, "text": "one\n"})
    assert (told[2]["id"], told[2]["data"]) == ("1.8", {"attempt": 1, "position": 4, "text": "two\n"})
    assert told[3]["data"] == {"state": "COMPLETED", "attempt": 1, "reason": "Completed", "exit_code": 0}


def test_a_retry_is_followed_as_the_next_attempt(api: Api, work: Work, ann: str) -> None:
    first = work.started("echo first")
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.text() == "first\n", what="the first attempt's words")
        work.ended(first)
        api.queue.transitions.settle(Retry("x", 1, "infrastructure", reason="NodeLost"))
        work.grant()
        second = work.run("echo second", attempt=2)
        work.ended(second)
        work.settle(attempt=2)
        assert stream.ended.wait(GENEROUS_SECONDS)
    told = [each for each in stream.events if each["event"] in ("attempt", "output", "end")]
    assert [(each["event"], each["data"]["attempt"]) for each in told] == [
        *(("attempt", 1), ("output", 1)),
        *(("attempt", 2), ("output", 2), ("end", 2)),
    ]
    assert stream.text() == "first\nsecond\n"
    assert "reset" not in stream.names()
    with following(api, ann, "1.2", path=path_of()) as again:
        assert again.ended.wait(GENEROUS_SECONDS)
    assert again.text() == "rst\nsecond\n", "an earlier attempt is told to its end, while its pod is there"


def test_a_follower_goes_on_where_it_stopped(api: Api, work: Work, ann: str) -> None:
    pod = work.started(f"echo one; {HELD}; echo two")
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: stream.text() == "one\n", what="the first words")
    work.let_go(pod)
    work.ended(pod)
    work.settle()
    with following(api, ann, stream.events[-1]["id"], path=path_of()) as again:
        assert again.ended.wait(GENEROUS_SECONDS)
    assert again.text() == "two\n"
    assert "reset" not in again.names()
    with following(api, ann, path=path_of(), tail_bytes=3) as tail:
        assert tail.ended.wait(GENEROUS_SECONDS)
    assert tail.text() == "wo\n"


def test_what_is_gone_with_its_pod_is_told_from_what_was_kept(api: Api, work: Work, ann: str) -> None:
    work.gone(work.started("echo one"))
    with following(api, ann, path=path_of()) as stream:
        wait_until(lambda: "attempt" in stream.names(), what="its beginning")
        work.settle(result='{"exit_code": 3, "output_tail": "ä kept"}'.encode())
        assert stream.ended.wait(GENEROUS_SECONDS)
    told = [each["data"] for each in stream.events if each["event"] in ("output", "end")]
    assert told[0] == {"attempt": 1, "position": None, "text": "ä kept"}
    assert told[1]["exit_code"] == 3
    with following(api, ann, "1.2", path=path_of()) as again:
        assert again.ended.wait(GENEROUS_SECONDS)
    assert again.names()[-3:] == ["reset", "output", "end"], "nobody knows where what was kept begins"
    with following(api, ann, "7.3", path=path_of()) as later:
        assert later.ended.wait(GENEROUS_SECONDS)
    assert later.names() == ["reset", "state", "attempt", "output", "end"], "there was no such attempt"


def test_long_lines_and_what_is_no_text_are_told_whole(api: Api, work: Work, ann: str) -> None:
    program = r"printf '\303'; sleep 0.3; printf '\244\377\302\205\342\200\250'; head -c 100000 /dev/zero | tr '\0' 'ä'"
    pod = work.started(program)
    work.ended(pod)
    work.settle()
    with following(api, ann, path=path_of()) as stream:
        assert stream.ended.wait(GENEROUS_SECONDS)
    raw = b"".join(work.pods.logs(pod.name))
    assert stream.text() == raw.decode(errors="backslashreplace")
    assert stream.text().startswith("ä\\xff\x85\u2028")
    outputs = [each for each in stream.events if each["event"] == "output"]
    assert max(len(each["data"]["text"].encode()) for each in outputs) <= 4 * MOST_BYTES
    assert [each["data"]["position"] for each in outputs][1:] == [int(each["id"][2:]) for each in outputs][:-1]


def test_a_character_that_comes_in_two_pieces_is_told_once_and_a_gap_ends_one() -> None:
    teller = Teller(2, 10)
    assert teller.tell(Piece("aä".encode()[:2], 10)) == (
        b'id: 2.11\nevent: output\ndata: {"attempt":2,"position":10,"text":"a"}\n\n'
    )
    assert teller.told_until == 11
    assert teller.tell(Piece("ä€".encode()[1:4], 12)) == (
        b'id: 2.13\nevent: output\ndata: {"attempt":2,"position":11,"text":"\\u00e4"}\n\n'
    )
    assert teller.tell(Piece(b"z", 50)) == (
        b'id: 2.15\nevent: output\ndata: {"attempt":2,"position":13,"text":"\\\\xe2\\\\x82"}\n\n'
        b'id: 2.51\nevent: output\ndata: {"attempt":2,"position":50,"text":"z"}\n\n'
    )
    assert teller.finish() == b""
