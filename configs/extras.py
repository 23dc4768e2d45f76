"""What only an extra brings, imported by name when it is used: the one place that tells which extra is missing.

In the flow: `pip install bandmaster` brings what the middleware needs. The command, the scheduler process, the embedded
server, `bandmaster up` and the pods of a cluster need more, which `pyproject.toml` lists as extras. Each is imported
here at its first use, so that everything else works without; whoever runs a process shows the error as one line.
"""

from importlib import import_module
from typing import Any

from .errors import ExtraMissing

_OURS = __name__.partition(".")[0]


def import_extra(module: str, extra: str) -> Any:
    """Import a module, ours or another's, that needs what an extra brings.

    Args:
        module: Its full name.
        extra: What brings all of its packages: `cli`, `scheduler`, `k8s`, `local`.

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
            # A defect of ours, which nobody mends by installing something.
            raise
        raise ExtraMissing(package, extra) from error
