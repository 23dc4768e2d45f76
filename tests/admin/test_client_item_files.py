"""The client's files of items: uploaded as bytes, files and items, once whatever is lost, and exported as they come."""

import asyncio
import io
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from calling import Api
from cutting import Cutting

from bandmaster.admin.client import wire
from bandmaster.admin.client.files import Lines
from bandmaster.client import ApiUnavailable, AsyncClient, Client, LinesRefused, NotFound, calls
from bandmaster.items import exporting
from bandmaster.ledger.errors import LedgerUnavailable

COUNT: Final = 2 * exporting.ITEMS_A_PAGE + 1
Do = Callable[..., Any]


@pytest.fixture(params=["blocking", "asyncio"])
def do(request: pytest.FixtureRequest, api: Api) -> Iterator[Do]:
    """Calls a method of one of the clients as an admin; what it yields as a list."""
    token = api.token("root", "admin")
    with Client(api.url, token) as client:
        client.send(calls.create_item_queue("invoices"))

        def blocking(name: str, *given: Any, url: str = api.url, **named: Any) -> Any:
            with Client(url, token) as other:
                found = getattr(other, name)(*given, **named)
                return list(found) if name.startswith("export") else found

        async def awaited(name: str, *given: Any, url: str = api.url, **named: Any) -> Any:
            async with AsyncClient(url, token) as other:
                found = getattr(other, name)(*given, **named)
                return [each async for each in found] if name.startswith("export") else await found

        if request.param == "blocking":
            yield blocking
        else:
            yield lambda *given, **named: asyncio.run(awaited(*given, **named))


def test_bytes_files_and_items_are_uploaded_and_exported(do: Do, tmp_path: Path) -> None:
    file = tmp_path / "items.csv"
    file.write_text("reference,payload.name\nA,Åse\n", encoding="utf-8")
    sent = list[int]()
    with file.open("rb") as opened:
        opened.read(5)
        assert do("upload_items", "invoices", opened, format="csv", progress=sent.append).added == 1
        assert not opened.closed
    assert sent[-1] == file.stat().st_size
    assert do("upload_items", "invoices", b'{"reference": "B"}\n').added == 1
    due = datetime(2099, 1, 1, tzinfo=UTC)
    items = ({"payload": {"n": number, "text": "a\u2028b"}, "postpone_until": due} for number in range(COUNT))
    assert do("upload_items", "invoices", items).added == COUNT
    found = do("export_items", "invoices", status=["POSTPONED"])
    assert sorted(each.payload["n"] for each in found) == list(range(COUNT))
    assert {each.payload["text"] for each in found} == {"a\u2028b"}
    assert {each.postpone_until for each in found} == {"2099-01-01T00:00:00.000Z"}
    table = b"".join(do("export_file", "invoices", "csv", reference="A")).decode()
    assert table.startswith("id,status,reference")
    assert "Åse" in table
    assert do("export_items", "invoices", reference="nobody's") == []


def test_lines_that_are_wrong_are_told_by_the_error_or_the_answer(do: Do) -> None:
    items = [{"priority": 1}, {"priority": "high"}, {"nothing": 1}]
    with pytest.raises(LinesRefused, match="2 lines are wrong") as raised:
        do("upload_items", "invoices", items)
    assert (raised.value.status, raised.value.code, raised.value.refused) == (422, "lines_refused", 2)
    assert [(each.line, each.field) for each in raised.value.lines] == [(2, "priority"), (3, "nothing")]
    report = do("upload_items", "invoices", items, each=True)
    assert (report.added, report.refused) == (1, 2)
    assert [each.line for each in report.lines] == [2, 3]
    for name, given in (("upload_items", ("none", b"{}")), ("export_items", ("none",))):
        with pytest.raises(NotFound):
            do(name, *given)


def test_an_upload_whose_answer_is_lost_is_sent_again_and_adds_each_line_once(
    do: Do, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "AGAIN_SECONDS", 0.01)
    cutting = Cutting(api.url)
    cutting.to_swallow = 1
    report = do("upload_items", "invoices", ({"payload": number} for number in range(COUNT)), url=cutting.url)
    assert cutting.to_swallow == 0
    assert (report.added, report.known) == (COUNT, COUNT)
    assert len(do("export_items", "invoices")) == COUNT
    cutting.close()


def test_an_export_that_is_broken_off_is_an_error(do: Do, monkeypatch: pytest.MonkeyPatch) -> None:
    do("upload_items", "invoices", ({"payload": number} for number in range(COUNT)))
    page = exporting.Listing.page

    def only_the_first(*given: Any, before: Any = None) -> Any:
        if before is not None:
            raise LedgerUnavailable("it is gone", url="sqlite://")
        return page(*given, before=before)

    monkeypatch.setattr(exporting.Listing, "page", only_the_first)
    with pytest.raises(ApiUnavailable):
        do("export_items", "invoices")


@pytest.mark.parametrize("head", ["Content-Type: text/html\r\n", ""])
def test_something_else_that_answers_is_not_taken_for_an_export(do: Do, head: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            caller, _ = listening.accept()
            with caller:
                caller.recv(65_536)
                caller.sendall(f"HTTP/1.1 200 OK\r\n{head}Content-Length: 0\r\n\r\n".encode())

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(ApiUnavailable, match="not one of the API's"):
            do("export_items", "invoices", url=f"http://127.0.0.1:{listening.getsockname()[1]}")
        answering.join(60)


def test_an_item_that_is_none_is_no_item() -> None:
    lines = Lines("http://127.0.0.1")
    assert lines.feed(b'{"id": "a", "status": "NEW", "priority": 0, "retries": 0, ') == []
    (item,) = lines.feed(b'"abandoned": 0, "created_at": "2030-01-01T00:00:00Z"}\n')
    assert (item.id, item.payload) == ("a", None)
    with pytest.raises(ApiUnavailable, match="is not one of the API's"):
        lines.feed(b"<html>\n")


def test_a_file_is_read_from_its_beginning_each_time(do: Do) -> None:
    file = io.BytesIO(b'{"payload": 1}\n')
    assert do("upload_items", "invoices", file, idempotency_key="k").known == 0
    assert do("upload_items", "invoices", file, idempotency_key="k").known == 1
