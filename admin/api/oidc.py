"""Signing a browser in with an OpenID provider: sending it there, and what it comes back with.

In the flow: a page of the API links to the first route; the provider sends the browser back to the second, with a code,
and a session begins as with a token (``signing_in.py``). Everything that comes by the browser may be a stranger's:
whether this browser began this login says its cookie, and who its user is says what the provider signed. If the process
dies between the two, another one takes the second; if it dies within the second, the login has to begin anew.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from ...configs.logger import Logger
from ..auth.unguessable import Unguessable
from ..errors import Refused, forbidden, not_configured
from ..oidc.attempts import ATTEMPT_SECONDS, Attempt, Begun
from ..oidc.errors import NotProven
from ..oidc.opened import Oidc
from ..services import Services
from . import cookies
from .knowing import stranger, tried
from .queue_routes import in_turn
from .requiring import ServicesOf, address_of
from .signing_in import begin

_log = Logger(__name__)
router: Final = APIRouter()
_SIGNED_IN: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Signed in</title><meta http-equiv="refresh" content="0;url=/">
<p>Signed in. <a href="/">Go on</a></p></html>
"""
"""A page, and not a redirection: a browser that a page of the provider sent here is still on its way from there, and
does not send the session's cookie (SameSite=Strict) to where it is redirected; it would be told that nobody is signed
in. From this page it goes on by itself, as from any of ours. Where to is fixed: nobody can have it sent elsewhere."""
_DENIED: Final = frozenset({"access_denied", "consent_required", "interaction_required", "login_required"})
_TEXT_MAX_CHARS: Final = 4_096
"""All four of them together have to fit into one address, where a character may take three."""
_TEXT_PATTERN: Final = r"^[\x20-\x7e]*$"
"""RFC 6749, Appendix A: `state`, `code` and `error` are of printable ASCII; and an issuer is an URL (RFC 9207)."""
_AGAIN: Final = "begin again at /api/v1/session/oidc"


def _said(what: str) -> Any:
    """A text of the address that the provider sends the browser to."""
    return Query(max_length=_TEXT_MAX_CHARS, pattern=_TEXT_PATTERN, description=what)


@router.get(
    "/session/oidc",
    status_code=303,
    response_class=Response,
    summary="Begin to sign in with a provider",
    responses={303: {"description": "To the provider, which sends the browser back."}},
)
async def begin_with_provider(request: Request, services: ServicesOf) -> Response:
    """The browser is sent to the OpenID provider that the settings name; 404 `not_configured` if they name none. The
    answer sets a cookie, without which it does not count that the browser comes back."""
    oidc = _oidc_of(services)
    # Each keeps something in Redis for a while, for somebody whom nobody knows.
    await stranger(services, address_of(request))
    had = cookies.session_id_of(request)
    begun = Begun.new(before="" if had is None else had.digest)
    kept = begun.kept
    url = await oidc.provider.login_url(state=begun.state.text, nonce=kept.nonce, verifier=kept.verifier)
    await in_turn(services, oidc.attempts.keep, begun)
    response = RedirectResponse(url, status_code=303)
    cookies.keep_login(response, request, begun.browser, seconds=ATTEMPT_SECONDS)
    return response


@router.get(
    "/session/oidc/callback",
    response_class=HTMLResponse,
    summary="End to sign in with a provider",
    responses={200: {"description": "Signed in: a page that goes on to `/`."}},
)
async def end_with_provider(
    request: Request,
    services: ServicesOf,
    state: Annotated[str, _said("Of the login that was begun.")] = "",
    code: Annotated[str, _said("What the provider gave.")] = "",
    iss: Annotated[str | None, _said("Who the provider is.")] = None,
    error: Annotated[str | None, _said("Why it gave none.")] = None,
) -> Response:
    """The provider sends the browser here. The answer sets the session's cookie, as signing in with a token does; then
    `GET /session` tells the CSRF token."""
    oidc = _oidc_of(services)
    attempt = await tried(services, address_of(request), lambda: _taken(request, services, oidc, state))
    if attempt is None:
        raise _failed(f"this browser began no such login, it is over, or it took too long: {_AGAIN}")
    if error is not None:
        # What the provider says is not repeated: it comes by the address, where anybody may write.
        if error in _DENIED:
            raise Refused(403, "login_denied", f"the provider says that the login was not allowed: {error}")
        raise _failed(f"the provider says that the login failed: {_AGAIN}")
    try:
        claims = await oidc.provider.who(code=code, said_issuer=iss, nonce=attempt.nonce, verifier=attempt.verifier)
    except NotProven as problem:
        _log.warning("login_not_proven", problem=str(problem))
        raise _failed(f"{problem}; {_AGAIN}") from None
    of = oidc.users.read(claims)
    token = oidc.users.token_of(of)
    if token is None:
        raise forbidden("the provider knows you, but none of your groups may use this API: oidc.roles says which may")
    begun = await begin(request, services, token, of, before=attempt.before)
    response = HTMLResponse(_SIGNED_IN)
    cookies.forget_login(response, request)
    cookies.keep(response, request, begun.session_id, seconds=services.sessions.lasting_seconds)
    return response


async def _taken(request: Request, services: Services, oidc: Oidc, state: str) -> Attempt | None:
    read, browser = Unguessable.read(state), cookies.login_of(request)
    if read is None or browser is None:
        return None
    return await in_turn(services, oidc.attempts.take, read, browser)


def _oidc_of(services: Services) -> Oidc:
    if services.oidc is None:
        raise not_configured("nobody signs in with a provider here: oidc.issuer names none")
    return services.oidc


def _failed(detail: str) -> Refused:
    return Refused(401, "login_failed", detail)
