"""Signs a browser in: what it gave was found to be somebody's, and a session begins for it.

In the flow: the route for programs of a page, the page without programs and the answer of a provider end here. The id
is new with each login, and a session that the browser had ends: nobody can give a browser an id and find it signed in
under it later. If the process dies after the session began, nobody has its id, and it ends when it was idle for long.
"""

from dataclasses import dataclass

from fastapi import Request

from ..auth.standing_for import OfToken, StandsFor
from ..auth.tokens import Caller, Session, Token
from ..auth.unguessable import Unguessable
from ..errors import forbidden, unauthorized
from ..services import Services
from . import cookies
from .knowing import nobody, token_of_code
from .queue_routes import in_turn
from .requiring import address_of, find_token, take

NO_CODE = "there is no such code: it was used, or it is too old"


@dataclass(frozen=True, slots=True)
class Begun:
    """A session that began."""

    token: Token
    session_id: Unguessable
    session: Session


async def by_token(request: Request, services: Services, text: str) -> Begun:
    """Sign in by a token.

    Raises:
        Refused: If there is none that is valid, or too many are tried.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
        QueueUnavailable: If Redis does not answer.
    """
    token = await find_token(services, text.strip(), address_of(request))
    return await begin(request, services, token, OfToken.of(token))


async def by_code(request: Request, services: Services, text: str) -> Begun:
    """Sign in by a one-time code, which is used up.

    Raises:
        Refused: If there is no such code, or too many are tried.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
        QueueUnavailable: If Redis does not answer.
    """
    code, address = Unguessable.read(text), address_of(request)
    if code is None:
        await nobody(services, address)
        raise unauthorized(NO_CODE)
    found = await token_of_code(services, code, address)
    if found is None:
        raise unauthorized(NO_CODE)
    token, of = found
    return await begin(request, services, token, of, code=code)


async def begin(
    request: Request,
    services: Services,
    token: Token,
    of: StandsFor,
    *,
    code: Unguessable | None = None,
    before: str = "",
) -> Begun:
    """Begin a session.

    Args:
        request: Of the browser.
        services: What the routes work with.
        token: What may be done by it.
        of: For whom it is to stand.
        code: The one-time code that was given.
        before: The digest of the session that the browser had, if its cookie does not come with the request.

    Raises:
        Refused: If the token is a program's, or used too often, or another used the code.
        QueueUnavailable: If Redis does not answer.
    """
    if token.execution_id is not None:
        raise forbidden("this token is a program's: nobody signs in by it")
    await take(request, services.quotas.requests, token)
    caller = Caller(token, address_of(request))
    had = cookies.session_id_of(request)
    ends = before if had is None else had.digest
    begun = await in_turn(services, services.sessions.begin, caller, of, code=code, before=ends)
    if begun is None:
        raise unauthorized(NO_CODE)
    return Begun(token, *begun)
