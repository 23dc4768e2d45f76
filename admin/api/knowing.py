"""Finds the token for which something stands that a caller sent: its text, the id of a session, a one-time code.

In the flow: each request comes here once. What nobody here knows to be valid counts as a failed login of its network
before it is looked up, and no more are looked up than that allows; what turns out to be valid is no failure, and those
that come at once take turns. So whoever tries tokens locks none: those that are
known are served wherever they are, and one that is new is from elsewhere.
"""

from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, TypeVar

from ...configs.logger import Logger
from ..auth.browser_sessions import SignedIn
from ..auth.secrets import Secret
from ..auth.standing_for import OfUser, StandsFor
from ..auth.tokens import Session, Token
from ..auth.unguessable import Unguessable
from ..quotas.networks import network_of
from ..quotas.quota import Share
from ..services import Services
from .queue_routes import in_turn

_log = Logger(__name__)
_REFUSED: Final = "token_refused"
P = ParamSpec("P")
T = TypeVar("T")


async def nobody(services: Services, address: str) -> None:
    """Count a request that sends nothing by which anybody could be known.

    Raises:
        Refused: If the network sends too many.
    """
    quota, network = services.quotas.failed_logins, network_of(address)
    # Nothing is looked up for it: it waits behind nobody.
    share = None if quota is None else await quota.take(network)
    _tell(share, network)


async def stranger(services: Services, address: str) -> None:
    """Count a request of somebody who is not known yet, and for whom something is kept: it is no failure, but many are.

    Raises:
        Refused: If the network sends too many.
    """
    if services.quotas.failed_logins is not None:
        await services.quotas.failed_logins.take(network_of(address))


async def token_of_secret(services: Services, secret: Secret, address: str) -> Token | None:
    """Return the token that was sent, if it is valid.

    Raises:
        Refused: If too many are tried.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """
    token = services.keeper.known(secret)
    if token is None and services.keeper.is_made(secret):
        # Nobody can guess it: where its firing has ended, it is no failed login, and not looked up twice.
        return await services.known_tokens.run_once(secret, services.keeper.find, secret)
    if token is None and services.keeper.recalls(secret):
        token = await services.known_tokens.run(services.keeper.find, secret)
    if token is not None:
        return token
    # A client may begin with many requests at once: they are one stranger. The same token from several networks is a
    # stranger in each, and looked up once.
    return await services.strangers.run(
        (secret, network_of(address)),
        lambda: tried(
            services, address, lambda: services.strange_tokens.run_once(secret, services.keeper.find, secret)
        ),
    )


async def token_of_session(services: Services, session_id: Unguessable, address: str) -> tuple[Token, Session] | None:
    """Return the token by which a browser signed in, if session and token are valid.

    Raises:
        Refused: If too many are tried.
        QueueUnavailable: If Redis does not answer, which alone knows the session.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """

    async def find() -> tuple[Token, Session] | None:
        signed_in = await in_turn(services, services.sessions.find, session_id)
        token = None if signed_in is None else await token_of(services, signed_in.of)
        return None if signed_in is None or token is None else (token, signed_in.session)

    if services.sessions.recalls(session_id) and (found := await find()) is not None:
        return found
    return await tried(services, address, find)


async def token_of_code(services: Services, code: Unguessable, address: str) -> tuple[Token, StandsFor] | None:
    """Return for whom a one-time code stands. It is not used up.

    Raises:
        Refused: If too many are tried.
        QueueUnavailable: If Redis does not answer.
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """

    async def find() -> tuple[Token, StandsFor] | None:
        of = await in_turn(services, services.sessions.meant_by, code)
        token = None if of is None else await token_of(services, of)
        return None if of is None or token is None else (token, of)

    return await tried(services, address, find)


async def signed_in_still(services: Services, session: Session) -> SignedIn | None:
    """Return what a session is now, without counting it as used; None if it has ended."""
    return await in_turn(services, services.sessions.look, session.digest)


async def token_of(services: Services, of: StandsFor) -> Token | None:
    """Return the token for which a session stands, as it is now, if it is valid; of a user, what they may do now.

    Raises:
        LedgerError: If only the ledger's database knows the token, and it does not answer.
    """
    if isinstance(of, OfUser):
        return None if services.oidc is None else services.oidc.users.token_of(of)
    # Who has a session is no stranger.
    return services.keeper.known(of.secret) or await services.known_tokens.run(services.keeper.find, of.secret)


async def tried(services: Services, address: str, find: Callable[[], Awaitable[T | None]]) -> T | None:
    """Return what is found; if that is nothing, it was a failed login.

    Raises:
        Refused: If the network has too many of them, or too many at once. Nothing is looked for.
    """
    quota = services.quotas.failed_logins
    network = network_of(address)
    if quota is None:
        found = await find()
        if found is None:
            _tell(None, network)
        return found
    # As many at once as this process has in hand: those that are no failures use up nothing, however many they are.
    async with services.quotas.login_turns.turn(network):
        share = await quota.take(network)
        has_failed = False
        try:
            # A file, a database or Redis is asked, which may take its time.
            found = await find()
            has_failed = found is None
        finally:
            # Only what is known to be nobody's is a failed login.
            if not has_failed:
                quota.give_back(share)
    if found is None:
        _tell(share, network)
    return found


def _tell(share: Share | None, network: str) -> None:
    if share is None or share.is_news(_REFUSED):
        _log.warning(_REFUSED, network=network)
