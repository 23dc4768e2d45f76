"""Whether a caller whose request is answered for long may still be: asked by streams, each second.

In the flow: a token that is revoked or has expired, a session that has ended, ends its streams within seconds. What
nobody can tell, since a server does not answer, is no: whoever follows comes again, and is told why.
"""

from typing import Final

from ...ledger.errors import LedgerError
from ...scheduler.model.errors import QueueUnavailable
from ..auth.standing_for import OfToken, StandsFor
from ..auth.tokens import Caller
from ..errors import Refused
from ..services import Services
from .knowing import signed_in_still, token_of

CHECKED_SECONDS: Final = 1.0


async def may_go_on(services: Services, caller: Caller) -> bool:
    """Whether a caller is still known, and may see what it might when it began."""
    try:
        of: StandsFor = OfToken.of(caller.token)
        if caller.session is not None:
            signed_in = await signed_in_still(services, caller.session)
            if signed_in is None:
                return False
            of = signed_in.of
        token = await token_of(services, of)
    except (LedgerError, QueueUnavailable, Refused):
        return False
    return token is not None and (token.scopes, token.owner) == (caller.token.scopes, caller.token.owner)
