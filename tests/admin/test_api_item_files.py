"""Files of items over the API: uploaded whole or line by line, bounded, broken off, and exported."""

import csv
import io
import json
import os
import socket
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest
from calling import V1, Api, api_on
from sqlalchemy import func, select

from bandmaster.admin.services import UPLOADS_AT_ONCE
from bandmaster.configs.api import ApiSettings
from bandmaster.items import exporting, uploading
from bandmaster.ledger.errors import LedgerUnavailable
from bandmaster.ledger.schema.tables import queue_items
from waiting import wait_until

UPLOAD: Final = f"{V1}/queues/invoices/items/upload"
EXPORT: Final = f"{V1}/queues/invoices/items/export"
JSONL: Final = "application/x-ndjson"


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in values)


def make(api: Api, **fields: Any) -> None:
    with api.client(api.token("root", "admin")) as client:
        assert client.post(f"{V1}/queues", json={"name": "invoices", **fields}).status_code == 201


def upload(
    api: Api, content: bytes | Iterable[bytes], media_type: str = JSONL, *, mode: str = "all", **headers: str
) -> httpx.Response:
    with api.client(api.token("root", "admin")) as client:
        given = {"Content-Type": media_type, **headers}
        return client.post(UPLOAD, params={"mode": mode}, content=content, headers=given)


def stored(api: Api) -> int:
    with api.database.reading() as connection:
        return connection.execute(select(func.count()).select_from(queue_items)).scalar_one()


def open_files() -> set[str]:
    """The files of this process that have no name any more, or one in the folder for such."""
    found = set[str]()
    for each in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(each))
        except OSError:
            continue  # It was closed meanwhile.
    return {each for each in found if each.endswith("(deleted)")}


@pytest.mark.parametrize("prefix", ["/api", V1])
def test_both_kinds_of_files_become_items(every_api: Api, prefix: str) -> None:
    api = every_api
    make(api)
    table = 'reference,priority,payload.name\r\nA,3,"Åse\nB"\r\n'
    with api.client(api.token("root", "admin")) as client:
        for content, media_type in (
            (lines({"reference": "R-1", "payload": {"n": 1}}, {"priority": -2}), JSONL),
            (table.encode("utf-8-sig"), "text/csv; charset=UTF-8"),
        ):
            url = f"{prefix}/queues/invoices/items/upload"
            answer = client.post(url, content=content, headers={"Content-Type": media_type})
            assert answer.status_code == 200, answer.text
        assert answer.json() == {"added": 1, "known": 0, "refused": 0, "lines": []}
        listed = client.get(f"{V1}/queue-items", params={"queue": "invoices"}).json()["items"]
    assert sorted((each["reference"] or "", each["priority"]) for each in listed) == [("", -2), ("A", 3), ("R-1", 0)]
    assert all(each["created_by"].startswith("root (token ") for each in listed)


def test_lines_that_are_wrong_are_told_and_hinder_only_who_wants_all(api: Api) -> None:
    make(api)
    good = [{"payload": number} for number in range(uploading.LINES_A_PAGE)]
    content = lines(*good) + b'{"priority": "high"}\n{\n' + lines(*good)
    told = [(uploading.LINES_A_PAGE + 1, "priority"), (uploading.LINES_A_PAGE + 2, "line")]
    answer = upload(api, content)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["refused"]) == (422, "lines_refused", 2), answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert [(each["line"], each["field"]) for each in problem["lines"]] == told
    assert stored(api) == 0
    answer = upload(api, content, mode="each")
    report = answer.json()
    assert (answer.status_code, report["added"], report["refused"]) == (200, 2 * len(good), 2), answer.text
    assert [(each["line"], each["field"]) for each in report["lines"]] == told
    assert stored(api) == 2 * len(good)


def test_the_report_is_bounded_and_tells_no_value(api: Api) -> None:
    make(api)
    for mode in ("all", "each"):
        report = upload(api, b'{"secret-17": "hunter2"}\n' * (uploading.MOST_TOLD + 7), mode=mode)
        assert report.json()["refused"] == uploading.MOST_TOLD + 7
        assert len(report.json()["lines"]) == uploading.MOST_TOLD
        assert "hunter2" not in report.text


def test_an_upload_that_is_sent_again_under_its_key_adds_nothing(api: Api) -> None:
    make(api)
    content = lines({"payload": 1}, {"payload": 2})
    first = upload(api, content, **{"Idempotency-Key": "k"})
    assert (first.json()["added"], first.json()["known"]) == (2, 0)
    token = api.token("ann", "admin")
    with api.client(token, **{"Content-Type": JSONL, "Idempotency-Key": "k"}) as client:
        # A key belongs to its token.
        assert client.post(UPLOAD, content=content).json()["known"] == 0
        again = client.post(UPLOAD, content=content).json()
        assert (again["added"], again["known"]) == (2, 2)
        other = client.post(UPLOAD, content=lines({"payload": 3}))
        assert (other.status_code, other.json()["lines"][0]["line"]) == (422, 1)
    assert stored(api) == 4


def test_what_cannot_be_uploaded_is_refused_and_leaves_nothing(api: Api) -> None:
    make(api, enforce_unique_reference=True)

    def refusal(answer: httpx.Response) -> tuple[int, str]:
        assert answer.headers["Content-Type"] == "application/problem+json", answer.text
        return answer.status_code, answer.json()["code"]

    some = lines({"reference": "A"})
    for media_type in ("application/json", "multipart/form-data; boundary=x", "text/csv; charset=utf-16", ""):
        assert refusal(upload(api, some, media_type)) == (415, "media_type"), media_type
    assert refusal(upload(api, some, **{"Content-Encoding": "gzip"})) == (415, "media_type")
    assert refusal(upload(api, b"name\n1\n", "text/csv")) == (422, "invalid")
    assert refusal(upload(api, some, mode="some")) == (422, "invalid")
    assert refusal(upload(api, some + some)) == (422, "lines_refused")
    with api.client(api.token("root", "admin")) as client:
        unknown = client.post(f"{V1}/queues/none/items/upload", content=some, headers={"Content-Type": JSONL})
        assert refusal(unknown) == (404, "not_found")
        assert client.put(f"{V1}/queues/invoices", json={"is_active": False}, headers={"If-Match": "*"}).is_success
    assert refusal(upload(api, some)) == (409, "queue_inactive")
    assert stored(api) == 0


def test_a_file_may_have_so_many_bytes_and_lines(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    make(api)
    with api_on(replace(api.services, closing=threading.Event()), ApiSettings(max_upload_bytes=300_000)) as url:
        small = replace(api, url=url)
        long = lines({"payload": "x" * 200_000})
        assert upload(small, long).status_code == 200
        # Declared, and in chunks without a length.
        for content in (2 * long, iter([long, long]), iter([b"x" * 100_000] * 400)):
            answer = upload(small, content)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
            assert "api.max_upload_bytes" in answer.json()["detail"]
    assert stored(api) == 1
    monkeypatch.setattr(uploading, "MOST_LINES_AT_ONCE", 2)
    answer = upload(api, lines({}, {}, {}))
    assert (answer.status_code, answer.json()["field"]) == (422, "file")
    assert upload(api, lines({}, {}, {}), mode="each").json()["added"] == 3


@pytest.mark.parametrize("mode", ["all", "each"])
def test_who_hangs_up_in_the_middle_leaves_nothing_behind(api: Api, mode: str) -> None:
    make(api)
    before = open_files()
    half = lines(*({"payload": "x" * 1_000} for _ in range(3_000)))
    address = urlsplit(api.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=60)
    head = f"POST {UPLOAD}?mode={mode} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSONL}\r\n"
    head += f"Authorization: Bearer {api.token('root', 'admin')}\r\nContent-Length: {2 * len(half)}\r\n\r\n"
    with closing(connection):
        connection.sendall(head.encode() + half)
        wait_until(lambda: open_files() - before, what="the file of the upload")
        assert api.services.uploads.taken == 1
    wait_until(lambda: api.services.uploads.taken == 0, what="the end of the upload")
    assert open_files() <= before
    assert stored(api) == 0


def test_a_file_that_is_too_slow_ends(api: Api) -> None:
    make(api)
    settings = ApiSettings(upload_seconds=0.5, body_seconds=60)
    with api_on(replace(api.services, closing=threading.Event()), settings) as url:
        address = urlsplit(url)
        connection = socket.create_connection((address.hostname, address.port), timeout=60)
        head = f"POST {UPLOAD} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSONL}\r\n"
        head += f"Authorization: Bearer {api.token('root', 'admin')}\r\nContent-Length: 100\r\n\r\n{{}}\n"
        with closing(connection):
            connection.sendall(head.encode())
            answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert stored(api) == 0


def test_so_many_are_taken_at_once_and_one_of_a_token(api: Api) -> None:
    make(api)
    token_ids = [f"token-{number}" for number in range(UPLOADS_AT_ONCE)]
    places = [api.services.uploads.place(each) for each in token_ids]
    for each in places:
        each.__enter__()
    try:
        answer = upload(api, lines({}))
    finally:
        for each in places:
            each.__exit__(None, None, None)
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (429, "too_many_files", "5")
    assert upload(api, lines({})).status_code == 200


@pytest.mark.parametrize("scope", ["read", "submit", "operate", "robot"])
def test_files_are_for_admins(api: Api, scope: str) -> None:
    make(api)
    with api.client(api.token("ann", scope), **{"Content-Type": JSONL}) as client:
        for answer in (client.post(UPLOAD, content=lines({})), client.get(EXPORT)):
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        # One that is long is answered, too, while it is sent.
        long = client.post(UPLOAD, content=lines({}) * 2_000_000)
        assert (long.status_code, long.json()["code"]) == (403, "forbidden")
    assert stored(api) == 0


def test_an_export_has_what_the_filters_say_in_both_forms(every_api: Api) -> None:
    api = every_api
    make(api)
    count = 2 * exporting.ITEMS_A_PAGE + 3
    values = ({"reference": f"={number}", "payload": {"n": number}} for number in range(count))
    assert upload(api, lines(*values)).status_code == 200
    with api.client(api.token("root", "admin")) as client:
        answer = client.get(EXPORT)
        assert answer.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="invoices.jsonl"'
        found = [json.loads(each) for each in answer.text.splitlines()]
        assert sorted(each["payload"]["n"] for each in found) == list(range(count))
        one = client.get(EXPORT, params={"reference": "=7", "format": "csv"})
        (row,) = csv.DictReader(io.StringIO(one.text, newline=""))
        assert (row["reference"], row["payload"]) == ("'=7", '{"n":7}')
        assert client.get(EXPORT, params={"status": "DONE"}).text == ""
        assert client.get(EXPORT, params={"to": "2020-01-01T00:00:00Z"}).text == ""
        assert client.get(EXPORT, params={"cursor": "x"}).status_code == 422
        assert client.get(f"{V1}/queues/none/items/export").status_code == 404
        # What was exported can be uploaded again.
        assert upload(api, answer.content).json()["added"] == count


def test_an_export_that_is_broken_off_is_not_taken_for_whole(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    make(api)
    assert upload(api, lines(*({"payload": n} for n in range(2 * exporting.ITEMS_A_PAGE)))).status_code == 200
    page = exporting.Listing.page
    pages = 0

    def one_page(*given: Any, **named: Any) -> Any:
        nonlocal pages
        pages += 1
        if pages > 1:
            raise LedgerUnavailable("it is gone", url="sqlite://")
        return page(*given, **named)

    monkeypatch.setattr(exporting.Listing, "page", one_page)
    with api.client(api.token("root", "admin")) as client, pytest.raises(httpx.RemoteProtocolError):
        client.get(EXPORT)
    wait_until(lambda: api.services.exports.taken == 0, what="the end of the export")


def test_who_reads_an_export_no_more_holds_no_place(api: Api) -> None:
    make(api)
    payload = "x" * 100_000
    assert upload(api, lines(*({"payload": payload} for _ in range(300)))).status_code == 200
    with api.client(api.token("root", "admin")) as client, client.stream("GET", EXPORT) as answer:
        next(answer.iter_bytes())
        assert api.services.exports.taken == 1
    wait_until(lambda: api.services.exports.taken == 0, what="the end of the export")
