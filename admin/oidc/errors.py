"""What can be wrong with a provider, or with what it says.

::

    BandmasterError
    ├── ProviderUnavailable   it does not answer, or not as a provider has to; the next try may succeed
    └── NotProven             what came back from it does not prove who somebody is

Neither's text has anything that the provider chose, but for names that the standards list.
"""

from ...scheduler.model.errors import BandmasterError


class ProviderUnavailable(BandmasterError):
    """The OpenID provider does not answer, or not as one has to."""


class NotProven(BandmasterError):
    """What the OpenID provider sent does not prove who somebody is."""
