"""What is raised when settings are wrong: ``SettingsError``, the one error of this package.

It is raised while a process starts, before anything was done.
"""


class SettingsError(ValueError):
    """A setting is unknown or its value is not allowed; the message names key, place and what is allowed."""
