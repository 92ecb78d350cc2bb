"""The source tree as the house's checks see it."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nncache"
PLACES = ("nncache", "tools", "tests")
"""Where Python stands."""


def sources(*places: str) -> tuple[Path, ...]:
    """Return all Python files written by people below these directories of the repository."""
    return tuple(
        path
        for place in places
        for path in sorted((ROOT / place).rglob("*.py"))
        if not path.name.endswith("_pb2.py")  # written by protoc
    )


@cache
def text_of(path: Path) -> str:
    """Return what a file holds; each is read once a session."""
    return path.read_text(encoding="utf-8")


def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree. To parse all of them takes seconds: look for a word in the text first."""
    return ast.parse(text_of(path))


def shown(path: Path) -> str:
    """Return the path as a reader of a failure wants it."""
    return path.relative_to(ROOT).as_posix()


def acts(path: Path) -> bool:
    """Say whether the module has a function that does anything; else it only names things."""
    functions = (
        node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(not _is_empty(statement) for function in functions for statement in function.body)


def _is_empty(statement: ast.stmt) -> bool:
    """Whether it is a docstring, `...` or `pass`."""
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
