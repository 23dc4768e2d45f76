"""The errors of a process that starts, or first uses a part of Bandmaster, raised before anything was done.

::

    SettingsError        also a ValueError: a setting is wrong
    └── SettingsRefused  also a SystemExit: those of this process are, so that it ends with that one line
    ExtraMissing         also an ImportError: a package of one of Bandmaster's extras is not installed
"""


class SettingsError(ValueError):
    """A setting is unknown or its value is not allowed; the message names the key, its source and what is allowed."""


class SettingsRefused(SettingsError, SystemExit):
    """The settings of this process are wrong. Whoever catches nothing, such as a worker that imports an application,
    ends with the message and without a traceback: it says all there is to mend, and that is not in the code.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.code = f"bandmaster: {message}"


class ExtraMissing(ImportError):
    """A package of an extra is not installed; the message says what to install."""

    def __init__(self, package: str, extra: str) -> None:
        message = f"this needs the extra {extra!r} ({package} is not installed): pip install 'bandmaster[{extra}]'"
        super().__init__(message, name=package)
        self.extra = extra
