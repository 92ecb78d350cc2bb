"""All places where a coroutine of the product may wait, listed from its source.

A place is an `await`, the entry to or exit from an `async with`, or a step of an `async for`. `Places` also finds
the place of a suspended frame: CPython keeps the exact position of each instruction (`co_positions`).
"""

import ast
import dis
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import CodeType
from typing import Final, TypeAlias

PACKAGE: Final = Path(__file__).parents[2] / "nncache"


class Kind(StrEnum):
    """How a coroutine waits."""

    AWAIT = "await"
    ENTER = "enter"  # of an `async with`
    EXIT = "exit"
    STEP = "step"  # of an `async for`


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One place in the source.

    Attributes:
        module: below the package, such as "proxy.decide.flights"; or one of the tests.
        qualname: of the function, as Python has it.
        text: what is awaited, entered or iterated, a call without its arguments; with "#2" for the second one of the
            same text in a function.
    """

    module: str
    lineno: int
    col: int
    kind: Kind
    qualname: str
    text: str

    @property
    def key(self) -> str:
        """Its name without line numbers, as used in the exemptions."""
        return f"{self.module}.{self.qualname}: {self.kind} {self.text}"

    @property
    def in_function(self) -> str:
        """The function's name and its text, as used in aims."""
        return f"{self.qualname}: {self.text}"

    def __str__(self) -> str:
        return f"{self.module.replace('.', '/')}.py:{self.lineno} {self.qualname}: {self.kind} {self.text}"


FILL: Final = (
    "net.catching_up",
    "proxy.clients.connection",
    "proxy.clients.server",
    "proxy.decide.front_end",
    "proxy.decide.reads",
    "proxy.decide.waits",
    "proxy.decide.path_waits",
    "proxy.decide.flights",
    "proxy.decide.call_limits",
    "proxy.upstream.queries",
    "hadoop.rpc.callers",
    "hadoop.rpc.namenode",
    "hadoop.rpc.connection",
    "hadoop.rpc.wire",
)
"""Modules in which a read may wait, from its first byte to the reply's."""

FORWARD: Final = (
    "proxy.decide.writes",
    "proxy.decide.existing_path",
    "proxy.upstream.client",
    "proxy.upstream.failover",
    "proxy.upstream.exchange",
    "proxy.upstream.namenode_protocol",
    "proxy.upstream.pool",
    "proxy.clients.body",
    "proxy.clients.response",
)
"""Modules in which a forwarded call may wait."""

APPLY: Final = (
    "invalidation.consumer",
    "invalidation.edits.direct",
    "invalidation.edits.poller",
    "invalidation.edits.confirmed_namenode",
    "invalidation.same_namespace",
    "invalidation.follower.stream",
    "invalidation.follower.follower",
    "invalidation.channel.reader",
    "invalidation.follower.filter_set",
    "invalidation.follower.probing",
    "hadoop.namenodes.pool",
    "hadoop.namenodes.jmx_client",
)
"""Modules in which a change may wait on its way into the cache; the pool reports the cache's freshness."""

_SETS_A_TIMER_ONLY: Final = frozenset(
    {"asyncio.timeout", "asyncio.timeout_at", "answer_timeout", "AnswerTimeout"}
)
"""`async with asyncio.timeout(...)` is no place: entering and leaving it never waits (Lib/asyncio/timeouts.py)."""

_Span: TypeAlias = tuple[int | None, int | None, int | None, int | None]


class UnlistedPlaceError(Exception):
    """A frame waits in a listed module, but not at a listed place: the listing is wrong."""


class Places:
    """The places of some modules. Finding the place of a frame costs two dict lookups."""

    def __init__(self, modules: Iterable[str]) -> None:
        self._spans: dict[str, dict[tuple[_Span, Kind], Place | None]] = {}  # by file; None: no place of ours
        self._codes: dict[CodeType, dict[int, Place | None]] = {}  # by offset of the instruction
        self.all: frozenset[Place] = frozenset(place for name in modules for place in self._list(name))

    def at(self, code: CodeType, lasti: int) -> Place | None:
        """Return the place where a suspended frame waits; None if its module is not listed.

        Raises:
            UnlistedPlaceError: the module is listed, the place is not.
        """
        known = self._codes.get(code)
        if known is None:
            spans = self._spans.get(code.co_filename)
            known = self._codes[code] = {} if spans is None else _stops(code, spans)
        place = known.get(lasti)
        if place is None and lasti not in known and code.co_filename in self._spans:
            raise UnlistedPlaceError(f"{code.co_filename}:{code.co_qualname} waits at offset {lasti}")
        return place

    def _list(self, module: str) -> Iterator[Place]:
        root = PACKAGE.parent if module.startswith("tests.") else PACKAGE
        path = root / (module.replace(".", "/") + ".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spans = self._spans[str(path)] = {}
        counted: dict[str, int] = {}
        for node, qualname in _walk(tree, ()):
            for kind, text in _waits(node):
                if text is None:
                    spans[_span(node), kind] = None
                    continue
                place = Place(module, node.lineno, node.col_offset, kind, qualname, text)
                counted[place.key] = number = counted.get(place.key, 0) + 1
                if number > 1:
                    place = Place(module, node.lineno, node.col_offset, kind, qualname, f"{text}#{number}")
                spans[_span(node), kind] = place
                yield place


_Waiting: TypeAlias = ast.Await | ast.AsyncWith | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp


def _walk(node: ast.AST, scopes: tuple[str, ...]) -> Iterator[tuple[_Waiting, str]]:
    """Yield each node that may wait, in source order, with the qualified name of its function."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.ClassDef(name=name):
                yield from _walk(child, (*scopes, name))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield from _walk(child, (*scopes, name))
            case _:
                if isinstance(child, _Waiting):
                    yield child, ".".join(scopes)
                yield from _walk(child, scopes)


def _waits(node: _Waiting) -> Iterator[tuple[Kind, str | None]]:
    """Yield each kind of wait of a node, with its text; None if it is listed elsewhere, or never happens."""
    match node:
        case ast.Await():
            yield Kind.AWAIT, _name(node.value)
        case ast.AsyncFor():
            yield Kind.STEP, _name(node.iter)
        case ast.AsyncWith(items=[ast.withitem(context_expr=context)]):
            is_timer = isinstance(context, ast.Call) and ast.unparse(context.func) in _SETS_A_TIMER_ONLY
            text = None if is_timer else _name(context)
            yield Kind.ENTER, text
            yield Kind.EXIT, text
        case ast.AsyncWith():  # CPython gives all its items one position
            text = ", ".join(_name(item.context_expr) for item in node.items)
            yield Kind.ENTER, text
            yield Kind.EXIT, text
        case _:  # a comprehension waits for the awaits inside it, which are listed
            yield Kind.AWAIT, None


def _name(expression: ast.expr) -> str:
    """Return an expression's text in a key: a call without its arguments, which change more often."""
    return ast.unparse(expression.func if isinstance(expression, ast.Call) else expression)


def _span(node: _Waiting) -> _Span:
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)


def _stops(code: CodeType, spans: dict[tuple[_Span, Kind], Place | None]) -> dict[int, Place | None]:
    """Return the place of each instruction where this code may be suspended."""
    positions = list(code.co_positions())
    stops: dict[int, Place | None] = {}
    kind = Kind.AWAIT
    for instruction in dis.get_instructions(code):
        match instruction.opname:
            case "GET_AWAITABLE":
                kind = (Kind.AWAIT, Kind.ENTER, Kind.EXIT)[instruction.arg or 0]
            case "GET_ANEXT":
                kind = Kind.STEP
            case "YIELD_VALUE":
                key = positions[instruction.offset // 2], kind
                if key in spans:
                    stops[instruction.offset] = spans[key]
    return stops
