"""Mutants of Python: each changes one expression or statement within a function, as a hasty edit might.

In the flow: ``drawn`` gives them to `running`. A seed ranks all that the tree allows by a digest of their names, so
that a change of the code changes the draw little. A name has the file, the function, the change and the text that it
changes, so it finds its place again as long as these exist. What changes no behaviour is left out: docstrings,
annotations, texts, logs, the words of errors and checks of types.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from .covering import AREAS, Case

ANCHOR_LENGTH: Final = 60
_FLIPS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_WORDS: Final = ("errors.py", "misspelt.py")
"""Modules of what errors say."""
_UNTOLD: Final = ("log", "logger", "isinstance", "issubclass", "cast", "warn", "super")
_IN_ANY_ORDER: Final = ("select", "where", "and_", "or_", "min", "max", "group_by", "returning")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    name: str
    file: str
    first_line: int
    last_line: int
    start: int
    end: int
    """Where in the file's bytes the replaced text stands."""
    text: str

    def applied(self, source: bytes) -> bytes:
        """The file with the change."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def cases(self, all_cases: Sequence[Case]) -> list[Case]:
        """The cases that execute what it changes."""
        changed = range(self.first_line, self.last_line + 1)
        return [case for case in all_cases if not case.lines.get(self.file, frozenset()).isdisjoint(changed)]


def all_of(tree: Path) -> list[Mutant]:
    """Every mutant that a working tree allows, by file and place."""
    files = sorted(path for area in AREAS for path in (tree / area).rglob("*.py") if path.name not in _WORDS)
    return [mutant for path in files for mutant in _of_file(tree, path)]


def drawn(tree: Path, *, seed: int, count: int) -> list[Mutant]:
    """So many of them, in the order that the seed gives them."""
    return sorted(all_of(tree), key=lambda each: sha256(f"{seed} {each.name}".encode()).digest())[:count]


def _of_file(tree: Path, path: Path) -> Iterator[Mutant]:
    source, file = path.read_bytes(), str(path.relative_to(tree))
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    seen = Counter[str]()
    for function, node, change, new in _changes(ast.parse(source), ()):
        anchor = " ".join(ast.unparse(node).split())[:ANCHOR_LENGTH]
        name = f"{file}::{function}: {change}: {anchor}"
        seen[name] += 1
        if seen[name] > 1:
            name += f" #{seen[name]}"
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset
        yield Mutant(name, file, node.lineno, node.end_lineno, start, end, new)


_Change = tuple[str, "ast.expr | ast.stmt", str, str]


def _changes(node: ast.AST, within: tuple[str, ...]) -> Iterator[_Change]:
    """Walk through the functions of a module, class or function."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
            inner = (*within, each.name)
            yield from _changes(each, inner)
            if isinstance(each, _FUNCTIONS):
                for statement in each.body:
                    yield from _of(statement, ".".join(inner))


def _of(node: ast.AST, function: str) -> Iterator[_Change]:
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.JoinedStr, ast.Assert)) or _is_untold(node):
        return
    if isinstance(node, (ast.expr, ast.stmt)):
        for change, new in _of_one(node):
            yield function, node, change, new if isinstance(node, ast.stmt) else f"({new})"
    left_out = {"annotation", "msg"} | ({"exc"} if isinstance(node, ast.Raise) else set[str]())
    for name, value in ast.iter_fields(node):
        if name in left_out:
            continue
        for each in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(each, ast.AST):
                yield from _of(each, function)


def _is_untold(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _is_untold(node.value)
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    while isinstance(called, (ast.Attribute, ast.Call)):
        if isinstance(called, ast.Attribute) and called.attr.strip("_") in _UNTOLD:
            return True
        called = called.value if isinstance(called, ast.Attribute) else called.func
    return isinstance(called, ast.Name) and called.id.strip("_") in _UNTOLD


def _of_one(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """The changes of this node itself: what each is, and the new text."""
    match node:
        case ast.Compare(ops=[operator]):
            new = copy.copy(node)
            new.ops = [_FLIPS[type(operator)]()]
            yield "comparison", ast.unparse(new)
        case ast.BoolOp(op=operator):
            new = copy.copy(node)
            new.op = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            yield "and-or", ast.unparse(new)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not", ast.unparse(operand)
        case ast.IfExp():
            yield (
                "other branch",
                f"{ast.unparse(node.orelse)} if {ast.unparse(node.test)} else {ast.unparse(node.body)}",
            )
        case ast.Constant(value=bool() as value):
            yield "boolean", str(not value)
        case ast.Constant(value=int() as value):
            yield "constant", str(value + 1)
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator) if not _is_text(node.left) and not _is_text(node.right):
            new = copy.copy(node)
            new.op = ast.Sub() if isinstance(operator, ast.Add) else ast.Add()
            yield "sign", ast.unparse(new)
        case ast.Call(args=[ast.Name() | ast.Attribute() as first, ast.Name() | ast.Attribute() as second, *others]):
            new = copy.copy(node)
            new.args = [second, first, *others]
            if ast.unparse(node.func).rpartition(".")[2] not in _IN_ANY_ORDER:
                yield "arguments", ast.unparse(new)
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "no call", "pass"
        case ast.Raise(exc=ast.expr()):
            yield "no raise", "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return None", "return None"
        case _:
            return


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )
