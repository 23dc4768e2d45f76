"""Imports packages that only an extra installs, and says which extra is missing.

In the flow: `pip install bandmaster` installs the packages that the middleware needs. The command, the scheduler
process, the embedded server, `bandmaster up` and the pods of a cluster need more, which `pyproject.toml` lists as
extras. Each is imported here at its first use, so that everything else works without it. Entry points show the error
as one line.
"""

from importlib import import_module
from typing import Any

from .errors import ExtraMissing

_OURS = __name__.partition(".")[0]


def import_extra(module: str, extra: str) -> Any:
    """Import a module, of Bandmaster or of a third party, that needs packages of an extra.

    Args:
        module: Its full name.
        extra: The extra that installs all of these packages: `cli`, `scheduler`, `k8s`, `local`, `ledger`, `api`,
            `metrics`, `oidc`, `otlp`.

    Returns:
        The module.

    Raises:
        ExtraMissing: If one of its packages is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", _OURS):
            # The missing module is Bandmaster's own: a defect, which installing a package does not repair.
            raise
        raise ExtraMissing(package, extra) from error
