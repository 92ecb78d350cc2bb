"""No test fails because the machine is busy: waits in real time end only when something must be hanging."""

import ast
from collections.abc import Iterator

import pytest

from tests.house.tree import parsed, shown, sources, text_of
from tests.patience import HANG_S

CLOCKS = {"boottime", "monotonic", "perf_counter"}
"""Clocks of real time; a test in virtual time has its own clock."""

MARGINS = {"HANG_S", "SLACK_S", "SESSION_TIMEOUT_S", "timeout_s"}
"""Upper limits that a measured time may be compared with: a margin, or the duration of something else."""

LIMIT = "asyncio.timeout"


def hasty(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that fail on a busy machine."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            yield from [node.lineno] * any(map(_is_hasty_bound, ast.walk(node.test)))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == LIMIT and node.args:
            limit = node.args[0]
            if isinstance(limit, ast.Constant) and isinstance(limit.value, int | float):
                is_hasty = 0 < limit.value < HANG_S / 4
                yield from [node.lineno] * is_hasty


def _is_hasty_bound(node: ast.AST) -> bool:
    """Return whether a measured time is compared with an upper limit that has no margin."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(
        isinstance(operator, ast.Lt | ast.LtE) and _is_measured(less) and MARGINS.isdisjoint(_names(more))
        for operator, less, more in zip(node.ops, sides, sides[1:], strict=False)
    )


def _is_measured(node: ast.AST) -> bool:
    """Return whether this is the time since an earlier moment."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Call)
        and ast.unparse(node.left.func).rpartition(".")[2] in CLOCKS
    )


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def test_no_test_depends_on_how_fast_the_machine_is() -> None:
    """The margins are in `tests/patience.py`; the benchmarks measure speed."""
    lines = [
        f"{shown(path)}:{line}"
        for path in sources("tests")
        if "virtual_time" not in (text := text_of(path)) and any(word in text for word in (*CLOCKS, LIMIT))
        for line in hasty(parsed(path))
    ]
    assert not lines, "a busy machine makes these fail: compare with HANG_S, or leave it to a benchmark"


@pytest.mark.parametrize(
    ("source", "is_hasty"),
    [
        ("assert time.monotonic() - began < 0.1", True),
        ("assert boottime() - began <= 2 * TIMEOUT_S", True),
        ("assert 1 < perf_counter() - began < 2", True),
        ("assert 1 < time.monotonic() - began", False),
        ("assert time.monotonic() - began < HANG_S", False),
        ("assert time.monotonic() - began < CLOSE_S + SLACK_S", False),
        ("assert clock() - began < 0.1", False),
        ("asyncio.timeout(5)", True),
        ("asyncio.timeout(0)", False),
        ("asyncio.timeout(HANG_S)", False),
        ("asyncio.timeout(60)", False),
        ("assert a < b or f(5)", False),
    ],
)
def test_what_is_hasty_is_found(source: str, *, is_hasty: bool) -> None:
    """Each hasty form is found, and similar patient forms are not."""
    assert bool([*hasty(ast.parse(source))]) is is_hasty
