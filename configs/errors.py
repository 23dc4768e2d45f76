"""What is raised while a process starts or a part of it is first used, before anything was done.

::

    SettingsError    also a ValueError: a setting is wrong
    ExtraMissing     also an ImportError: a package is not installed that one of Bandmaster's extras brings
"""


class SettingsError(ValueError):
    """A setting is unknown or its value is not allowed; the message names key, place and what is allowed."""


class ExtraMissing(ImportError):
    """A package that an extra brings is not installed; the message says what to install."""

    def __init__(self, package: str, extra: str) -> None:
        message = f"this needs the extra {extra!r} ({package} is not installed): pip install 'bandmaster[{extra}]'"
        super().__init__(message, name=package)
        self.extra = extra
