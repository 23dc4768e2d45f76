"""OpenID providers for tests: one of others, in a process of its own, and one of ours that does what it is told to.

With each, an API that sends browsers there, and the browser: an HTTP client that does what somebody at a screen does.
"""

import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
from calling import UNLIMITED, V1, Api, api_on
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from bandmaster.admin.api import cookies
from bandmaster.admin.auth.browser_sessions import BrowserSessions
from bandmaster.admin.oidc.opened import open_oidc
from bandmaster.admin.quotas.quotas import Quotas
from bandmaster.configs.api import ApiSettings
from bandmaster.configs.oidc import OidcSettings

BEGIN: Final = f"{V1}/session/oidc"
CALLBACK: Final = f"{V1}/session/oidc/callback"
SESSION: Final = f"{V1}/session"
FAILED: Final = (401, "login_failed")
AWAY: Final = (503, "provider_unavailable")
CLIENT_ID: Final = "bandmaster"
SECRET: Final = "a-secret-of-the-client"
ROLES: Final = {"admins": "admin", "operators": "operate", "developers": "submit"}
_SERVE: Final = """
import json, sys
from oidc_provider_mock import User, run_server_in_thread
users = [User(sub=each.pop("sub"), claims=each) for each in json.loads(sys.argv[1])]
with run_server_in_thread(user_claims=users, require_nonce=True) as server:
    print(server.server_port, flush=True)
    sys.stdin.read()
"""


@contextmanager
def provider_of(*users: dict[str, Any]) -> Generator[str]:
    """Run a provider that others made, with these users; its URL."""
    running = subprocess.Popen(
        [sys.executable, "-c", _SERVE, json.dumps(users)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with running:
        assert running.stdout is not None
        yield f"http://localhost:{running.stdout.readline().strip()}"
        running.kill()


@contextmanager
def api_for(api: Api, issuer: str, *, settings: ApiSettings | None = None, **given: Any) -> Generator[Api]:
    """Serve an API beside another, which sends browsers to a provider."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        own: dict[str, Any] = {
            "client_id": CLIENT_ID,
            "public_url": f"http://127.0.0.1:{listening.getsockname()[1]}",
            "roles": ROLES,
        }
        own["client_secret"] = SECRET
        oidc = OidcSettings.model_validate({"issuer": issuer, **own, **given})
        scripts, settings = api.services.queue.scripts, settings or UNLIMITED
        services = replace(
            api.services,
            quotas=Quotas(scripts, settings),
            sessions=BrowserSessions(scripts, settings),
            oidc=open_oidc(oidc, scripts),
            closing=threading.Event(),
        )
        with api_on(services, settings, listening=listening) as url:
            yield replace(api, url=url, services=services)


def sent_away(client: httpx.Client) -> str:
    """Begin a login; where the browser is sent to."""
    answer = client.get(BEGIN)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def back_from(client: httpx.Client, url: str, user: str, **form: str) -> str:
    """Sign in at the provider; where it sends the browser back to."""
    assert client.get(url).status_code == 200
    answer = client.post(url, data={"sub": user, **form})
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"]


def log_in(client: httpx.Client, user: str) -> httpx.Response:
    """Sign in, as somebody at a screen; what the browser shows at last."""
    return client.get(back_from(client, sent_away(client), user))


@contextmanager
def user_of(api: Api, user: str, **headers: str) -> Generator[httpx.Client]:
    """A client of somebody who has signed in, which knows its CSRF token."""
    with api.client(None, **headers) as client:
        answer = log_in(client, user)
        assert answer.status_code == 200, answer.text
        client.headers[cookies.CSRF_HEADER] = client.get(SESSION).json()["csrf_token"]
        yield client


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """How a request was refused."""
    return answer.status_code, answer.json()["code"]


def _nothing(_: dict[str, Any]) -> None:
    """Lets an answer be what it is."""


Change = Callable[[dict[str, Any]], object]
Sign = Callable[[dict[str, Any], RSAKey], str]


@cache
def first_key() -> RSAKey:
    """The key that a provider begins with; making one takes as long as a whole test."""
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


@dataclass
class Told:
    """A provider that does what a test tells it to: everything right, if nothing else is said."""

    url: str = ""
    key: RSAKey = field(default_factory=first_key)
    listed: list[Any] = field(default_factory=list[Any])
    """The keys that it says; none: its own."""
    claims: Change = _nothing
    metadata: Change = _nothing
    answer: Change = _nothing
    sign: Sign = lambda claims, key: jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key, ["RS256"])
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list[Any])
    """Path, query or form, and headers of each request."""

    def document(self, path: str, query: dict[str, str], now: int) -> tuple[int, Any]:
        """Status and answer of one request."""
        if path.endswith("/openid-configuration"):
            said = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"} | {
                f"{each}_endpoint": f"{self.url}/{each}" for each in ("authorization", "token")
            }
            self.metadata(said)
            return 200, said
        if path == "/keys":
            return 200, {"keys": self.listed or KeySet([self.key]).as_dict()["keys"]}
        if path == "/token":
            began = next(sent for asked, sent, _ in reversed(self.asked) if asked == "/authorization")
            claims: dict[str, Any] = {"iss": self.url, "aud": CLIENT_ID, "sub": "1", "iat": now, "exp": now + 300}
            claims |= {"nonce": began["nonce"], "groups": ["developers"]}
            self.claims(claims)
            said = {"access_token": "of-no-use", "token_type": "Bearer"}
            said |= {"id_token": self.sign({name: each for name, each in claims.items() if each is not None}, self.key)}
            self.answer(said)
            return (400 if "error" in said else 200), said
        return 404, {}


@contextmanager
def told_provider(now: Callable[[], int]) -> Generator[Told]:
    """Serve a provider that does what it is told to."""
    told = Told()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

        def _answer(self, sent: str) -> None:
            path, query = urlsplit(self.path).path, dict(parse_qsl(sent))
            told.asked.append((path, query, dict(self.headers)))
            if path == "/authorization":
                back = urlencode({"code": "a-code", "state": query["state"]})
                self.send_response(302)
                self.send_header("Location", f"{query['redirect_uri']}?{back}")
                self.end_headers()
                return
            status, document = told.document(path, query, now())
            self.send_response(status)
            self.end_headers()
            self.wfile.write(document if isinstance(document, bytes) else json.dumps(document).encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    told.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def follow(client: httpx.Client) -> httpx.Response:
    """Sign in at a provider that asks nobody anything: the browser only follows."""
    return client.get(BEGIN, follow_redirects=True)


def outcome(api: Api) -> tuple[int, str | None]:
    """What somebody gets who signs in at such a provider."""
    with api.client(None) as client:
        answer = follow(client)
        if answer.status_code == 200:
            assert client.get(SESSION).status_code == 200
            return 200, None
        assert cookies.NAME not in client.cookies
        return code_of(answer)


def query_of(url: str) -> dict[str, str]:
    """The parameters of an address."""
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def part(document: Any) -> str:
    """A part of a token that no library would make: a JSON document, or bytes."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    return base64.urlsafe_b64encode(text).decode().rstrip("=")
