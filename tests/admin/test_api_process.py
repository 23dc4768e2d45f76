"""The process as an operator runs it: where it starts, what it refuses, over TLS, two at once, and how it ends."""

import hashlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from calling import V1
from running import Start, local_token, start

from bandmaster.ledger.book import Book
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from waiting import GENEROUS_SECONDS, wait_until

__all__ = ["local_token", "start"]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_on_this_machine_it_needs_nothing(
    start: Start, local_token: Callable[[], dict[str, str]], number: signal.Signals
) -> None:
    running = start()
    url = running.url()
    assert httpx.get(f"{url}/healthz").status_code == 200
    assert httpx.get(f"{url}{V1}/whoami").status_code == 401
    assert httpx.get(f"{url}{V1}/whoami", headers=local_token()).json()["scopes"] == ["admin"]
    sent = httpx.post(f"{url}{V1}/executions/", headers=local_token(), json={"command": ["echo", "hello-secret"]})
    assert sent.status_code == 201
    readiness = httpx.get(f"{url}/readyz")
    assert (readiness.status_code, readiness.json()["status"]) == (200, "degraded")
    assert running.end(number) == 0
    said = json.dumps(running.said())
    assert "api_stopped" in said
    assert "hello-secret" not in said
    assert local_token()["Authorization"].split("_", 2)[2] not in said


@pytest.mark.slow
def test_those_who_follow_are_let_go_when_it_ends(start: Start, local_token: Callable[[], dict[str, str]]) -> None:
    running = start()
    sent = httpx.post(f"{running.url()}{V1}/executions/", headers=local_token(), json={"command": ["true"]}).json()
    output = f"/executions/{sent['execution_id']}/logs/follow"
    with (
        httpx.stream("GET", f"{running.url()}{V1}/events", headers=local_token(), timeout=60) as events,
        httpx.stream("GET", f"{running.url()}{V1}{output}", headers=local_token(), timeout=60) as printed,
    ):
        of_events, of_printed = events.iter_bytes(), printed.iter_bytes()
        next(of_events)
        assert b"PENDING" in next(of_printed) + next(of_printed)
        running.process.send_signal(signal.SIGTERM)
        assert list(of_events) == list(of_printed) == [], "the streams end in order"
    assert running.process.wait(GENEROUS_SECONDS) == 0
    assert "timeout" not in json.dumps(running.said()).lower()


@pytest.mark.nightly
def test_a_signal_that_comes_early_ends_it(start: Start) -> None:
    running = start()
    status = Path(f"/proc/{running.process.pid}/status")

    def is_blocked() -> bool:
        (mask,) = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("SigBlk")]
        return bool(int(mask, 16) & 1 << (signal.SIGTERM - 1))

    wait_until(is_blocked, what="its first line")
    assert running.end() == 0


@pytest.mark.slow
def test_elsewhere_it_needs_tokens(start: Start, tmp_path: Path) -> None:
    said = start(api__host="0.0.0.0").failed()
    assert "nobody could call the API at 0.0.0.0" in said
    assert sum(not line.startswith("{") for line in said.splitlines()) == 1, said
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    environment = os.environ | {"BANDMASTER_LEDGER__URL": url}
    asked = [sys.executable, "-m", "bandmaster", "token", "create", "--owner", "ann", "--scope", "admin"]
    token = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    port = start(api__host="0.0.0.0", ledger__url=url).url().rpartition(":")[2]
    headers = {"Authorization": f"Bearer {token}", "Host": "any.name.example"}
    assert httpx.get(f"http://127.0.0.1:{port}{V1}/whoami", headers=headers).json()["owner"] == "ann"
    assert not (tmp_path / "var" / "api-token").exists()


@pytest.mark.nightly
def test_with_a_file_of_tokens_it_needs_no_database(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    digest = hashlib.sha256(b"A" * 43).hexdigest()
    file.write_text(f'[[token]]\nid = "first"\nsha256 = "{digest}"\nowner = "ann"\nscopes = ["admin"]\n')
    port = start(api__host="0.0.0.0", api__tokens_file=str(file)).url().rpartition(":")[2]
    headers = {"Authorization": f"Bearer bm_first_{'A' * 43}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
        sent = client.post(f"{V1}/executions/", json={"command": ["true"]})
        assert sent.status_code == 201
        shown = client.get(f"{V1}/executions/{sent.json()['execution_id']}").json()
        assert (shown["state"], shown["position"], shown["eta_seconds"]) == ("PENDING", 0, None)
        for refused in (
            client.get(f"{V1}/executions/"),
            client.post(f"{V1}/tokens", json={"owner": "bob", "scopes": ["read"]}),
        ):
            assert (refused.status_code, refused.json()["code"]) == (503, "ledger_unavailable")
        assert client.get("/readyz").json()["status"] == "degraded"
    assert not (tmp_path / "var" / "ledger.sqlite3").exists(), "who asks makes none"


@pytest.mark.nightly
def test_two_serve_one_queue(start: Start, local_token: Callable[[], dict[str, str]], tmp_path: Path) -> None:
    one = start().url()
    mine = local_token()
    two = start(paths__var_dir=str(tmp_path / "var-2")).url()
    others = {"Authorization": f"Bearer {(tmp_path / 'var-2' / 'api-token').read_text().strip()}"}
    sent = httpx.post(f"{one}{V1}/executions/", headers=mine, json={"command": ["true"]}).json()["execution_id"]
    assert httpx.post(f"{two}{V1}/executions/{sent}/cancel", headers=others).json()["state"] == "CANCELLED"
    assert httpx.get(f"{one}{V1}/executions/{sent}", headers=mine).json()["state"] == "CANCELLED"
    beside = start().url()
    assert httpx.get(f"{beside}{V1}/executions/{sent}", headers=mine).status_code == 200, "one folder, one token"
    assert httpx.get(f"{one}{V1}/executions/{sent}", headers=mine).status_code == 200


@pytest.mark.nightly
def test_its_address_stands_beside_its_token(start: Start, tmp_path: Path) -> None:
    url = start().url()
    assert (tmp_path / "var" / "api-url").read_text() == f"{url}\n"


@pytest.mark.nightly
def test_a_taken_port_gives_way_if_nobody_chose_it(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = start(api__port=port).failed()
        assert f"127.0.0.1:{port}: Address already in use; see api.host and api.port" in said
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8640))
            taken.listen()
        except OSError:
            pass  # It is taken by somebody else, which does as well.
        running = start(api__port="")
        assert httpx.get(f"{running.url()}/healthz").status_code == 200


@pytest.mark.slow
def test_over_tls(start: Start, tmp_path: Path, local_token: Callable[[], dict[str, str]]) -> None:
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*made, *names, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    url = start(api__tls_certificate=str(certificate), api__tls_key=str(key)).url()
    assert url.startswith("https://127.0.0.1:")
    trusted = ssl.create_default_context(cafile=str(certificate))
    assert httpx.get(f"{url}{V1}/whoami", headers=local_token(), verify=trusted).status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/healthz")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"api__host": "no.such.host.invalid"}, "api.host: 'no.such.host.invalid' is no address of this machine"),
        ({"api__tokens_file": "/nowhere/tokens.toml"}, "api.tokens_file: '/nowhere/tokens.toml' cannot be read"),
        ({"api__tls_key": "/nowhere/key"}, "tls_certificate and tls_key: give both, or neither"),
        ({"api__tls_key": "/nowhere/key", "api__tls_certificate": "/nowhere/crt"}, "No such file or directory"),
        ({"api__port": "70000"}, "less than or equal to 65535"),
        ({"ledger__url": "mysql://x/y"}, "ledger.url"),
    ],
)
def test_a_wrong_setting_is_told_in_one_line(start: Start, settings: dict[str, str], problem: str) -> None:
    said = start(**settings).failed()
    assert problem in said
    assert sum(not line.startswith("{") for line in said.splitlines()) == 1, said


@pytest.mark.nightly
def test_the_ledger_of_another_queue_is_not_shown(start: Start, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    database = Database(url)
    upgrade(database)
    assert Book(database, queue="another", holder="a test").take()
    database.close()
    said = start(ledger__url=url).failed()
    assert "bandmaster: api: the ledger is that of the queue with the prefix 'another', not 'exec_queue'" in said


@pytest.mark.slow
def test_it_starts_without_redis_and_says_so(start: Start, local_token: Callable[[], dict[str, str]]) -> None:
    url = start(redis__url="redis://127.0.0.1:1", redis__deadline_seconds="0.5").url()
    answer = httpx.get(f"{url}{V1}/executions/queue", headers=local_token(), timeout=30)
    assert (answer.status_code, answer.json()["code"]) == (503, "redis_unavailable")
    readiness = httpx.get(f"{url}/readyz", timeout=30)
    assert (readiness.status_code, readiness.json()["status"]) == (503, "unready")
    assert httpx.get(f"{url}/healthz").status_code == 200


@pytest.mark.nightly
def test_two_share_the_quota_of_a_token(start: Start, local_token: Callable[[], dict[str, str]]) -> None:
    both = [start(api__requests_per_minute="20") for _ in range(2)]
    urls = [each.url() for each in both]
    answers = [httpx.get(f"{url}{V1}/whoami", headers=local_token()).status_code for _ in range(20) for url in urls]
    assert answers == [200] * 20 + [429] * 20
    assert "quotas_counted_alone" not in json.dumps([each.said() for each in both])
    assert all(httpx.get(f"{url}/healthz").status_code == 200 for url in urls)
    both[0].process.kill()
    assert (
        httpx.get(f"{start(api__requests_per_minute='20').url()}{V1}/whoami", headers=local_token()).status_code == 429
    )
