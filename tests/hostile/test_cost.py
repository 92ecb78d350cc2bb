"""No code path costs more than linear work in a request's bytes, or more than 64 times them in memory."""

import asyncio
import gc
import importlib
import inspect
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest

from nncache.cache import Caller
from nncache.cache.subtrees import Subtrees
from nncache.cache.tree import Tree
from nncache.hadoop import paths
from nncache.hadoop.calls import PREFIX, parse_call, parse_plain
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    FileTouched,
    Footprint,
    LineTouched,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.effects import CallOutcome, ExistingPath, effects_of_call
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import InvalidPathError
from nncache.hadoop.redirects import form_c, second_step_paths
from nncache.invalidation.publisher.digest import Digest
from nncache.invalidation.publisher.relevance import concerns
from nncache.namenode.webhdfs.operations import SERVED, OperationRequest
from nncache.namenode.webhdfs.parameters import parse_parameters
from nncache.net.http1.conditional import conditions_of
from nncache.proxy.headers import request_headers
from tests.hostile.costing import Cost, counted, serve
from tests.hostile.shapes import SHAPES
from tests.proxy.doubles import FakeClock, make_cache

SIZE: Final = 65_000
"""Size of the requests whose memory is measured; the proxy accepts 65,536 bytes."""
HALF: Final = 8_000
"""Smaller size of the requests whose lines are counted; the larger one is twice that."""
MOST_BYTES_PER_BYTE: Final = 64
MOST_GROWTH: Final = 2.3
"""Maximum growth of the cost for twice the bytes; quadratic growth gives 4."""
LONG_TEXT: Final = 4_000
"""Length from which a text counts as one that holds the request's bytes."""

GLOBS: Final = (
    "/user/*/workflow/*/*/*/_SUCCESS",
    "/user/alice/workflow/2026/11/22/*",
    "/*",
    "/*/*",
    "/*/*/*",
    "/a/*/a/*/a/*",
    "/top/*",
)


@contextmanager
def memory_counted() -> Iterator[Cost]:
    """Measure the allocations in the block."""
    gc.collect()
    tracemalloc.start()
    try:
        yield Cost()
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", SHAPES)
def test_no_request_takes_many_times_its_bytes(name: str) -> None:
    """The peak of allocations, from the request's first byte to the reply's last."""
    raw = SHAPES[name](SIZE)
    with memory_counted() as cost:
        written = asyncio.run(serve(raw, cost, long_text=None, settings={"glob": GLOBS}))
    assert written.startswith(b"HTTP/1.1 ")
    assert cost.peak <= MOST_BYTES_PER_BYTE * len(raw), f"{cost.peak / len(raw):.0f} bytes for each"


def grown(spend: Callable[[int, Cost], object]) -> None:
    """Measure the cost of two sizes, one twice the other, and compare."""
    costs = []
    for size in (HALF, 2 * HALF):
        with memory_counted() as cost:
            spend(size, cost)
        costs.append(cost)
    half, whole = costs
    assert whole.lines <= MOST_GROWTH * half.lines, f"{half.lines} lines, then {whole.lines}"
    assert whole.taken <= MOST_GROWTH * half.taken, f"{half.taken} bytes taken, then {whole.taken}"


@pytest.mark.parametrize("name", SHAPES)
def test_two_times_the_bytes_cost_about_two_times_as_much(name: str) -> None:
    """Whole requests, from their bytes to those of the reply, however they are answered."""

    def spend(size: int, cost: Cost) -> None:
        raw = SHAPES[name](size)
        assert asyncio.run(serve(raw, cost, long_text=LONG_TEXT, settings={"glob": GLOBS}))

    grown(spend)


# ---- alone: functions that HDFS's limits, or an earlier reader, protect from long texts ----------------


def _with_globs(path: str) -> None:
    globs = GlobSet({glob: glob for glob in GLOBS}, max_steps=1_000)
    globs.matches(path)
    globs.names_matching(path)
    globs.may_match_below(path)
    globs.may_concern(path)
    globs.lowest_concern(path)


def _with_tree(path: str) -> None:
    tree = Tree()
    tree.ensure(path)
    tree.find(path)
    tree.holds(path)
    tree.proven_depth(path)
    tree.detach(path)


def _with_subtrees(path: str) -> None:
    subtrees = Subtrees()
    subtrees.add("/x")
    subtrees.cover(path)
    subtrees.add(path)
    subtrees.cover(path)
    subtrees.remove(path)


def _footprints(path: str) -> tuple[Footprint, ...]:
    kinds = (Appeared, Vanished, Touched, Opened, Closed, AccessChanged, SubtreeUnknown)
    return (
        *(kind(path) for kind in kinds),
        Moved(path, path + "x"),
        LineTouched(path, "/"),
        FileTouched(path),
    )


def _with_cache(path: str) -> None:
    clock = FakeClock()
    cache = make_cache(clock, glob=GLOBS)
    now = clock()
    cache.store.is_untouched(path)
    cache.lookup(path, Caller("user=carol"), now)
    cache.store.return_ticket(cache.store.take_ticket(path, Caller("user=carol"), now, joinable=True))
    cache.store.tree.ensure(path)
    cache.unproven_ancestors(path, now)
    cache.open_window("/x/y", 1, now, "/x")
    cache.open_window(path, 1, now, "/a")
    cache.lookup(path, Caller("user=carol"), now)
    cache.holds(path)
    cache.concerns(path)
    for change in _footprints(path):
        cache.apply(change, now, 7)
    cache.explain(path, now)


def _with_digest(path: str) -> None:
    digest = Digest(4)
    for number in range(3):
        for change in _footprints(path):
            if not isinstance(change, LineTouched | FileTouched):
                digest.add(number, change)
    digest.take()
    globs = GlobSet({glob: glob for glob in GLOBS}, max_steps=1_000)
    for change in _footprints(path):
        if not isinstance(change, LineTouched | FileTouched):
            concerns(change, globs)


def _with_paths(path: str) -> None:
    for function in (paths.decode_target_path, paths.decode_loosely, paths.percent_decode, paths.canonical):
        with suppress(InvalidPathError):
            function(path)
    paths.decode_escapes(path.encode())
    paths.has_dot_segments(path)
    paths.is_reserved(path)
    paths.is_cacheable(path)
    if path.startswith("/") and "//" not in path:
        paths.parent(path)
        paths.name(path)
        paths.depth(path)
        paths.exceeds_limits(path)
        above = paths.ancestors(path)
        assert above[len(above) // 2 :][-1] == "/"


def _with_calls(path: str) -> None:
    for method, op in (
        ("PUT", "MKDIRS"),
        ("PUT", "NEW"),
        ("POST", "CONCAT"),
        ("PUT", "RENAME"),
        ("GET", "OPEN"),
    ):
        for target in (
            f"{PREFIX}{path}?op={op}",
            f"{PREFIX}/a/b?op={op}&destination={path}&sources={path}&xattr.name={path}",
            f"{PREFIX}/a/b?op={op}&{path.replace('/', '&')}",
        ):
            call = parse_call(method, target)
            for outcome in CallOutcome:
                topmost = "/a" if (call.path or "").startswith("/a/") else None
                effects_of_call(call, outcome, ExistingPath(topmost_missing=topmost))
    parse_plain(f"{PREFIX}{path}?op=GETFILESTATUS&user.name=a")


def _with_redirects(path: str) -> None:
    form_c(path)
    call = parse_call("PUT", f"{PREFIX}{path}?op=CREATE")
    url = f"http://dn:9864{PREFIX}{path}".encode()
    second_step_paths(call, (), b"")
    second_step_paths(call, ((b"Location", url),), b"")
    second_step_paths(call, (), b'{"Location":"%b"}' % url)


def _with_fields(text: str) -> None:
    raw = text.encode()
    names = (b"Connection", b"Cookie", b"X-Forwarded-For", b"Accept")
    request_headers(tuple((name, raw) for name in names), "192.0.2.1")
    conditions_of(((b"Prefer", b"wait=1" + raw), (b"Prefer", raw), (b"If-None-Match", raw)), max_wait_s=60)


ALONE: Final[Mapping[str, Callable[[str], None]]] = {
    "globs": _with_globs,
    "tree": _with_tree,
    "subtrees": _with_subtrees,
    "cache": _with_cache,
    "digest": _with_digest,
    "paths": _with_paths,
    "calls": _with_calls,
    "fields": _with_fields,
    "redirects": _with_redirects,
}
PATHS: Final = ("/a", "/user/carol/workflow", "/aaaaaaaaaaaaaaa")
TEXTS: Final = (*PATHS, "%2Fa", "%", "/..", "//", "a,", ",/a", ";", "é", "\u0300\u0316")


@pytest.mark.parametrize("unit", TEXTS)
@pytest.mark.parametrize("name", ALONE)
def test_each_reader_is_linear_by_itself(name: str, unit: str) -> None:
    """This also holds where today nothing longer than an HDFS path can arrive."""
    if unit not in PATHS and name not in {"paths", "calls", "fields", "redirects"}:
        return  # it gets canonical paths only

    def spend(size: int, cost: Cost) -> None:
        text = unit * (size // len(unit))
        with counted(cost, long_text=LONG_TEXT):
            ALONE[name](text)

    grown(spend)


# ---- seconds, for work in C that shows neither as lines nor as bytes -----------------------------------


def _redirected(path: str) -> None:
    """Let the product's own NameNode redirect a client to a DataNode."""

    async def for_writing(_excluded: str | None) -> str:
        return "dn:9864"

    unused: Any = None
    request = OperationRequest(
        namenode=unused,
        caller=unused,
        path=path,
        host="192.0.2.1",
        parameters=parse_parameters("PUT", "op=CREATE&user.name=carol"),
        datanodes=cast("Any", SimpleNamespace(for_writing=for_writing)),
        namenode_rpc="nn:8020",
        block_pool="BP-1",
    )

    async def redirect() -> None:
        await SERVED["CREATE"](request)

    asyncio.run(redirect())


def _seconds(spend: Callable[[str], None], text: str) -> float:
    """Return the CPU seconds that a text costs, the minimum of five runs: other processes disturb some."""
    spent = []
    for _ in range(5):
        before = time.thread_time()
        spend(text)
        spent.append(time.thread_time() - before)
    return min(spent)


@pytest.mark.parametrize("spend", [_with_redirects, _redirected])
def test_marks_out_of_order_cost_no_square_of_their_number(spend: Callable[[str], None]) -> None:
    """With eight times as many marks; quadratic growth gives 64 times the cost."""
    few, many = (
        _seconds(spend, "/" + "\N{COMBINING GRAVE ACCENT}" * n + "\N{COMBINING GRAVE ACCENT BELOW}" * n)
        for n in (HALF // 16, HALF // 2)
    )
    assert many <= 3 * 8 * few, f"{few:.4f} s, then {many:.4f} s"


# ---- completeness ----------------------------------------------------------------------------------

MODULES: Final = (
    "nncache.hadoop.paths",
    "nncache.hadoop.calls",
    "nncache.hadoop.effects",
    "nncache.hadoop.globs",
    "nncache.hadoop.redirects",
    "nncache.cache.tree",
    "nncache.cache.subtrees",
    "nncache.cache.windows",
    "nncache.cache.store",
    "nncache.cache.metadata_cache",
    "nncache.cache.explanation",
    "nncache.invalidation.publisher.relevance",
    "nncache.net.http1.head",
    "nncache.proxy.reading",
)
"""Modules that read parts of a request."""

NOT_OF_A_REQUEST: Final = frozenset(
    {
        "nncache.hadoop.globs.Glob.matches",
        "nncache.hadoop.globs.compile_glob",
        "nncache.cache.metadata_cache.MetadataCache.close_stream",
        "nncache.proxy.reading.read_admitted",  # a method and an address; other readers read the target
    }
)
"""Functions in these modules whose texts come from settings or from the product."""


def _readers() -> Iterator[str]:
    """Yield the names of the functions and methods that take a text."""
    for name in MODULES:
        module = importlib.import_module(name)
        for owner in (module, *(each for _, each in inspect.getmembers(module, inspect.isclass))):
            if owner is not module and owner.__module__ != name:
                continue
            for _, function in inspect.getmembers(owner, inspect.isfunction):
                kinds = {str(kind) for key, kind in function.__annotations__.items() if key != "return"}
                is_public = not function.__name__.startswith("_")
                if function.__module__ == name and is_public and _takes_text(kinds):
                    yield f"{name}.{function.__qualname__}"


def _takes_text(annotations: set[str]) -> bool:
    texts = {"str", "bytes", "str | bytes", "<class 'str'>", "<class 'bytes'>"}
    return any(annotation in texts for annotation in annotations)


def test_every_reader_of_texts_is_among_them() -> None:
    """Each function that takes a path, a target or a field must get a long one here."""
    cost = Cost()
    for make in SHAPES.values():
        asyncio.run(serve(make(2 * LONG_TEXT), cost, long_text=LONG_TEXT, settings={"glob": GLOBS}))
    for read in ALONE.values():
        with counted(cost, long_text=LONG_TEXT):
            read("/a" * LONG_TEXT)
    readers = set(_readers())
    assert {"nncache.hadoop.paths.canonical", "nncache.hadoop.globs.GlobSet.may_concern"} <= readers
    assert readers - cost.fed == NOT_OF_A_REQUEST
