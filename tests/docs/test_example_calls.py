"""The examples of one page agree: an actor is declared once, and is sent what it takes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.documents import ROOT, text_of

PAGES = [ROOT / "docs" / name for name in ("messages.md", "sending.md")]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
AWAITS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def nodes(page: Path) -> Iterator[ast.AST]:
    for text in BLOCK.findall(text_of(page)):
        yield from ast.walk(compile(text, page.name, "exec", AWAITS))


def sent(call: ast.Call) -> tuple[str, int] | None:
    """The actor, and how many arguments it is sent; None: this sends nothing, or it is not to be seen how many."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(name), attr="send" | "asend" | "message")):
            return name, len(call.args)
        case ast.Call(func=ast.Attribute(value=ast.Name(name), attr="send_with_options" | "asend_with_options")):
            args = next((one.value for one in call.keywords if one.arg == "args"), None)
            return (name, len(args.elts)) if isinstance(args, ast.Tuple) else None
        case _:
            return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_an_actor_of_a_page_is_declared_once_and_sent_what_it_takes(page: Path) -> None:
    found = list(nodes(page))
    actors = [(node.name, len(node.args.args)) for node in found if isinstance(node, ast.FunctionDef)]
    taken = dict(actors)
    assert len(taken) == len(actors)
    calls = [each for node in found if isinstance(node, ast.Call) and (each := sent(node)) is not None]
    assert calls
    assert [each for each in calls if taken.get(each[0], each[1]) != each[1]] == []
