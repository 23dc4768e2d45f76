"""The manual's commands, as the deployment tests run them: what it says is what is tried.

In the flow: a test names words that are in one of its commands, and changes only what the manual leaves to the reader.
"""

import itertools
import re
import shlex
from pathlib import Path
from typing import Any, Final

from deploy_chart import helm

MANUAL: Final = (Path(__file__).parents[2] / "docs" / "kubernetes.md").read_text()


def manual_command(*words: str) -> list[str]:
    """The arguments of the one command that has these words, without those that name the program and its namespace."""
    blocks = re.findall(r"```sh\n(.*?)```", MANUAL, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    (found,) = {line for line in lines if all(word in line for word in words)}
    arguments = shlex.split(found)
    return arguments[3:] if arguments[:3] == ["kubectl", "-n", "bandmaster"] else arguments


def manual_values(*words: str) -> dict[str, Any]:
    """What the one command with these words sets."""
    arguments = manual_command("helm upgrade", *words)
    texts = [value for name, value in itertools.pairwise(arguments) if name == "--set"]
    return helm().parse_set_string(",".join(texts))
