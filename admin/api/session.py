"""A browser's session: signing in by a token or a one-time code, who is signed in, signing out.

In the flow: a page of the API signs in once and has a cookie from then on, which no program of a page can read. The
token itself is kept by nobody.
"""

from typing import Final

from fastapi import APIRouter, Request, Response

from ...scheduler.model.errors import InvalidRequest
from ..answers.access import SessionAnswer
from ..auth.tokens import Caller, Session, Token
from ..auth.unguessable import Unguessable
from ..errors import not_found
from ..services import Services
from . import cookies
from .moments import shown_at
from .queue_routes import in_turn
from .requests import Login
from .requiring import ReadCaller, ServicesOf
from .shapes import whoami_answer
from .signing_in import by_code, by_token
from .strict_bodies import StrictRoute

router: Final = APIRouter(route_class=StrictRoute)


@router.post("/session", status_code=201, summary="Sign a browser in")
async def sign_in(request: Request, response: Response, services: ServicesOf, login: Login) -> SessionAnswer:
    """By a token, or by a one-time code. The answer sets a cookie; what changes something needs the CSRF token as the
    header `X-CSRF-Token`, too. A session that the browser had ends."""
    if login.token is not None and login.code is None:
        begun = await by_token(request, services, login.token)
    elif login.code is not None and login.token is None:
        begun = await by_code(request, services, login.code)
    else:
        raise InvalidRequest("token, code", "exactly one of the two is needed")
    cookies.keep(response, request, begun.session_id, seconds=services.sessions.lasting_seconds)
    return _answer(services, begun.token, begun.session, begun.session_id)


@router.get("/session", summary="Show who is signed in")
async def show_session(request: Request, services: ServicesOf, caller: ReadCaller) -> SessionAnswer:
    """By the cookie of the request; 404 if a token was sent."""
    session, session_id = _session_of(request, caller)
    return _answer(services, caller.token, session, session_id)


@router.delete("/session", status_code=204, summary="Sign out")
async def sign_out(request: Request, services: ServicesOf, caller: ReadCaller) -> Response:
    """The session ends at once, and what the browser follows within seconds."""
    session, _ = _session_of(request, caller)
    await in_turn(services, services.sessions.end, caller, session)
    response = Response(status_code=204)
    cookies.forget(response, request)
    return response


def _session_of(request: Request, caller: Caller) -> tuple[Session, Unguessable]:
    session_id = cookies.session_id_of(request)
    if caller.session is None or session_id is None:
        raise not_found("this request sent a token: there is no session")
    return caller.session, session_id


def _answer(services: Services, token: Token, session: Session, session_id: Unguessable) -> SessionAnswer:
    return SessionAnswer(
        **whoami_answer(token).model_dump(),
        ends_at=shown_at(session.ends_ms),
        idle_seconds=services.sessions.idle_seconds,
        csrf_token=session_id.csrf_token,
    )
