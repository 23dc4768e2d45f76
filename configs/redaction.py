"""Removes passwords from URLs.

Settings appear on screens, in logs and in error messages; a server's password must be in none of these.
"""

from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

REDACTED: Final = "***"
UNREADABLE: Final = "<unreadable URL>"

_SECRET_PARAMETERS: Final = frozenset({"password", "sentinel_password", "ssl_password", "sslpassword"})
"""Those of redis-py's URLs, and of libpq's."""


def redacted_url(url: str) -> str:
    """Return the URL with every password in it (before the host, or as a parameter) replaced by three stars."""
    try:
        parts = urlsplit(url)
        password, username = parts.password, parts.username
    except ValueError:
        # A URL that cannot be parsed cannot be shown safely.
        return UNREADABLE
    # Without a scheme no host is found, and a password would be taken for a part of the path.
    if not parts.scheme or ("@" in url and "@" not in parts.netloc):
        return UNREADABLE
    netloc = parts.netloc
    if password is not None:
        netloc = f"{username or ''}:{REDACTED}@{netloc.rpartition('@')[2]}"
    query = parts.query
    parameters = parse_qsl(query, keep_blank_values=True)
    if any(name.lower() in _SECRET_PARAMETERS for name, _ in parameters):
        shown = [(name, REDACTED if name.lower() in _SECRET_PARAMETERS else value) for name, value in parameters]
        query = urlencode(shown, quote_via=quote, safe="*/")
    # Put together by hand: urlunsplit drops the empty host of unix:///path.
    return f"{parts.scheme}://{netloc}{parts.path}{f'?{query}' if query else ''}"
