"""The errors of a process that starts, or first uses a part of Bandmaster, raised before anything was done.

::

    SettingsError    also a ValueError: a setting is wrong
    ExtraMissing     also an ImportError: a package of one of Bandmaster's extras is not installed
"""


class SettingsError(ValueError):
    """A setting is unknown or its value is not allowed; the message names the key, its source and what is allowed."""


class ExtraMissing(ImportError):
    """A package of an extra is not installed; the message says what to install."""

    def __init__(self, package: str, extra: str) -> None:
        message = f"this needs the extra {extra!r} ({package} is not installed): pip install 'bandmaster[{extra}]'"
        super().__init__(message, name=package)
        self.extra = extra
