"""One attempt at a real receiver: signed, to the address that was checked, within its time, without following it."""

import asyncio
import base64
import datetime
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr
from receiver import ALLOWED, HANGS, NOTIFY, SECRET, receiving

from bandmaster.client import BadSignature, verify_notification
from bandmaster.configs.notify import NotifySettings
from bandmaster.items.notifying.posting import Posting
from bandmaster.items.notifying.resolving import Resolve, resolve_name
from bandmaster.items.notifying.signature import headers_of
from waiting import GENEROUS_SECONDS

BODY = '{"type":"item.failed","data":"ö"}'.encode()
OTHER = f"whsec_{base64.b64encode(b'o' * 32).decode()}"


def post(url: str, settings: NotifySettings = ALLOWED, resolve: Resolve = resolve_name) -> str | None:
    return asyncio.run(Posting(settings, resolve).post(url, "id-1", BODY)).problem


def test_a_notification_is_signed_as_standard_webhooks_has_it() -> None:
    with receiving() as receiver:
        assert post(receiver.url) is None
    (got,) = receiver.got
    assert (got.path, got.body, got.headers["content-type"]) == ("/hook?of=test", BODY, "application/json")
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert verify_notification(got.headers, got.body, SECRET) == "id-1"
    for headers, body, secret in (
        (got.headers, got.body + b" ", SECRET),
        (got.headers, got.body, OTHER),
        (got.headers | {"webhook-id": "id-2"}, got.body, SECRET),
        (got.headers | {"webhook-timestamp": str(int(got.headers["webhook-timestamp"]) + 1)}, got.body, SECRET),
        (got.headers | {"webhook-timestamp": "soon"}, got.body, SECRET),
        (got.headers | {"webhook-signature": "v1a,xyz"}, got.body, SECRET),
        ({name: value for name, value in got.headers.items() if name != "webhook-signature"}, got.body, SECRET),
    ):
        with pytest.raises(BadSignature):
            verify_notification(headers, body, secret)


def test_a_known_notification_has_a_known_signature() -> None:
    """Made by the specification's words with another program: `openssl dgst -sha256 -hmac`."""
    headers = headers_of([b"k" * 32], "msg_1", 1_700_000_000, b'{"a":1}')
    assert headers == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": "v1,tDnYFrCIK4MQWDoOot4FXQ7/xKQ3Ta7J5hEfw60KmoA=",
    }


def test_one_that_is_sent_again_later_is_refused() -> None:
    old = headers_of([b"k" * 32], "id-1", int(time.time()) - 400, BODY)
    with pytest.raises(BadSignature, match="300 s"):
        verify_notification(old, BODY, SECRET)
    assert verify_notification(old, BODY, SECRET, tolerance_seconds=500) == "id-1"


def test_while_the_secret_changes_both_are_right() -> None:
    both = ALLOWED.model_copy(update={"secret": SecretStr(f"{OTHER} {SECRET}")})
    with receiving() as receiver:
        assert post(receiver.url, both) is None
    (got,) = receiver.got
    for secret in (SECRET, OTHER):
        assert verify_notification(got.headers, got.body, secret) == "id-1"


@pytest.mark.parametrize("status", [301, 302, 307, 308, 400, 404, 410, 500, 503])
def test_whatever_is_no_success_is_a_problem_and_redirections_are_not_followed(status: int) -> None:
    with receiving() as elsewhere, receiving(status) as receiver:
        receiver.location = elsewhere.url
        assert f"it answered with {status}" in (post(receiver.url) or "")
        assert (len(receiver.got), elsewhere.got) == (1, [])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1"])
def test_a_private_address_is_not_reached_unless_it_is_allowed(host: str) -> None:
    with receiving() as receiver:
        url = f"http://{host}:{receiver.port}/"
        assert "is not public, and not in notify.private_networks" in (post(url, NOTIFY) or "")
        only = NOTIFY.model_copy(update={"private_networks": ("10.0.0.0/8",)})
        assert "is not public" in (post(url, only) or "")
        assert receiver.got == []
        assert post(url) is None
        assert len(receiver.got) == 1


def test_the_connection_goes_to_the_address_that_was_checked() -> None:
    """A name that is asked for again, as when its address changes in between, would not be found at all."""
    asked = list[str]()

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["10.255.255.1"]

    with receiving() as receiver:
        assert post(f"http://receiver.invalid:{receiver.port}/", resolve=resolve) is None
    (got,) = receiver.got
    assert (got.headers["host"], asked) == (f"receiver.invalid:{receiver.port}", ["receiver.invalid"])


def test_of_several_addresses_those_that_are_private_are_left_out() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["10.1.2.3", "fd00::1", "127.0.0.2", "127.0.0.1"]

    # Nobody listens at the second loopback address.
    with receiving() as receiver:
        assert post(f"http://receiver.invalid:{receiver.port}/", resolve=resolve) is None
        assert len(receiver.got) == 1


def test_of_several_addresses_one_that_swallows_all_does_not_keep_the_next_from_being_tried() -> None:
    hole = ExitStack()
    with hole, receiving() as receiver:
        swallow(hole, "127.0.0.2", receiver.port)

        async def resolve(host: str, port: int) -> Sequence[str]:
            return ["127.0.0.2", "127.0.0.1"]

        patient = ALLOWED.model_copy(update={"timeout_seconds": 4.0})
        assert post(f"http://receiver.invalid:{receiver.port}/", patient, resolve) is None
        assert len(receiver.got) == 1
        short = ALLOWED.model_copy(update={"timeout_seconds": 0.5})
        assert "no answer within 0.5 s" in (post(f"http://127.0.0.2:{receiver.port}/", short) or "")


def swallow(stack: ExitStack, address: str, port: int) -> None:
    """Let whatever is sent there get no answer: a queue of connections that is full drops those that come."""
    listening = stack.enter_context(socket.socket())
    listening.bind((address, port))
    listening.listen(0)
    for _ in range(4):
        waiting = stack.enter_context(socket.socket())
        waiting.setblocking(False)
        with suppress(BlockingIOError):
            waiting.connect((address, port))


def test_a_name_that_there_is_not_and_a_port_where_nobody_listens_are_problems() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        assert "no connection" in (post(f"http://127.0.0.1:{bound.getsockname()[1]}/") or "")
    assert "it was not sent: gaierror" in (post("http://receiver.invalid/") or "")


def test_an_attempt_takes_no_longer_than_its_time() -> None:
    short = ALLOWED.model_copy(update={"timeout_seconds": 0.5})
    with receiving(HANGS) as receiver:
        assert "no answer within 0.5 s" in (post(receiver.url, short) or "")


def test_a_receiver_that_answers_byte_by_byte_has_no_more_time() -> None:
    short = ALLOWED.model_copy(update={"timeout_seconds": 0.5})
    ends = threading.Event()

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            try:
                while not ends.wait(0.05):
                    connection.sendall(b"H")
            except OSError:
                pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,), daemon=True)
        thread.start()
        problem = post(f"http://127.0.0.1:{listening.getsockname()[1]}/", short) or ""
        ends.set()
        thread.join(GENEROUS_SECONDS)
    assert problem == "no answer within 0.5 s (notify.timeout_seconds)" or "RemoteProtocolError" in problem


def test_tls_is_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    tls = certified(tmp_path, "receiver.invalid")

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    trusting = ALLOWED.model_copy(update={"ca_file": tmp_path / "certificate.pem"})
    with receiving(tls=tls) as receiver:
        assert post(f"https://receiver.invalid:{receiver.port}/", trusting, resolve) is None
        for url, settings in (
            (f"https://other.invalid:{receiver.port}/", trusting),
            (f"https://127.0.0.1:{receiver.port}/", trusting),
            (f"https://receiver.invalid:{receiver.port}/", ALLOWED),
        ):
            assert "CERTIFICATE_VERIFY_FAILED" in (post(url, settings, resolve) or "")
        assert len(receiver.got) == 1


def certified(folder: Path, name: str) -> ssl.SSLContext:
    """Make a certificate for a name, which vouches for itself, and serve with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "receiver of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "certificate.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, folder / "key.pem")
    return context
