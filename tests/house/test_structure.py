"""Limits on the size of the code base: files per journey, modules with one user, packages, words.

Each limit is the count at the time it was set. Lower it when the count falls; raise it only with a decision.
"""

import ast
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType

import grimp
import pytest

from nncache.clock import boottime
from nncache.hadoop.change import Appeared
from nncache.proxy.traffic import Traffic
from nncache.registry.record_json import encode_record
from nncache.registry.rest.endpoint import RegistryEndpoint
from tests.daemons.test_registry_source import source_of
from tests.house.tree import PACKAGE, ROOT, parsed, sources, text_of
from tests.proxy.decide.test_direct_fills import ASK, GONE, IS_FILE, OTHER
from tests.proxy.direct_fixture import LISTED, direct, direct_fixture
from tests.proxy.wire import RawClient, RawNameNode, limits_of_tests, says, serving, until
from tests.registry.samples import WEBHDFS, fake_registry

JOURNEYS = {"kept miss": 42, "hit": 26, "LISTSTATUS": 34, "MKDIRS": 41, "held wait": 49, "registry": 21}
"""The product's files that run a function on the journey of a new request head, without events; HTTP parsers count."""

SMALL_WITH_ONE_USER = 5
PROTOCOLS = 30
README_WORDS = 800
DOCS_WORDS = 50_000

SMALL = 40
"""A module with fewer lines and a single user belongs into that user."""


@contextmanager
def files_run() -> Iterator[set[str]]:
    """Yield the product's files that run a function in this thread during the block."""
    files: set[str] = set()
    inside = f"{PACKAGE}/"

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(inside):
            files.add(frame.f_code.co_filename.removeprefix(inside))

    before = sys.getprofile()
    gc.collect()  # otherwise finalizers of other tests would run files during the block
    gc.disable()
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(before)
        gc.enable()


async def journeys() -> dict[str, set[str]]:
    """Return the files of each journey of a request, without test doubles."""
    run: dict[str, set[str]] = {}
    async with direct(says(GONE), learns=OTHER) as (d, _), d.client() as client:
        for name, cache_status in (("kept miss", b"nncache; fwd=miss; stored"), ("hit", b"nncache; hit")):
            with files_run() as run[name]:
                client.send(ASK)
                assert (await client.reply()).all(b"Cache-Status") == [cache_status]
    async with RawNameNode(says(LISTED)) as namenode, direct_fixture(namenode) as p, p.client() as client:
        for name, method, operation in (("LISTSTATUS", "GET", "LISTSTATUS"), ("MKDIRS", "PUT", "MKDIRS")):
            with files_run() as run[name]:
                client.send(
                    f"{method} /webhdfs/v1/d?op={operation}&user.name=joe HTTP/1.1\r\nHost: nn\r\n\r\n".encode()
                )
                assert (await client.reply(method)).status == 200
    run["held wait"] = await held_wait()
    run["registry"] = await registry_lookup()
    return run


async def held_wait() -> set[str]:
    """Return the files of a long poll that ends when its file appears."""
    async with direct(says(GONE), says(GONE), says(IS_FILE), learns=OTHER) as (d, _), d.client() as client:
        with files_run() as run:
            client.send(ASK.replace(b"Accept: */*", b"Prefer: wait=60"))
            await until(lambda: d.front_end.waits.waiting == 1)
            d.cache.apply(Appeared("/kept/f"), boottime(), 101)
            assert (await client.reply()).all(b"Preference-Applied")
    return run


async def registry_lookup() -> set[str]:
    """Return the files of a registry request, from the proxy to ZooKeeper."""
    registry, limits, traffic = fake_registry(), limits_of_tests(), Traffic(boottime)
    await registry.make_root()
    await registry.bind("/services/a", WEBHDFS)
    endpoint = RegistryEndpoint(source_of(registry), traffic, limits)
    async with (
        serving(endpoint.handle, limits=limits, traffic=traffic) as server,
        RawClient.connected(server.port) as client,
    ):
        with files_run() as run:
            client.send(b"GET /v1/registry/services/a HTTP/1.1\r\nHost: nn\r\n\r\n")
            assert (await client.reply()).body == encode_record(WEBHDFS)
    return run


async def test_no_journey_becomes_longer() -> None:
    """To follow a request, a reader needs all files of its journey."""
    longer = {
        name: sorted(files) for name, files in (await journeys()).items() if len(files) > JOURNEYS[name]
    }
    assert longer == {}


@cache
def graph() -> grimp.ImportGraph:
    """Return the import graph of the product."""
    return grimp.build_graph("nncache", cache_dir=str(ROOT / ".import_linter_cache"))


def test_few_small_modules_have_a_single_user() -> None:
    """It is read with its user, so it belongs there. Deciders are exempt, since they are tested alone."""
    small = [
        module
        for module in graph().modules
        if (path := ROOT / f"{module.replace('.', '/')}.py").exists()
        and len(text_of(path).splitlines()) < SMALL
        and len(graph().find_modules_that_directly_import(module)) == 1
    ]
    assert len(small) <= SMALL_WITH_ONE_USER, sorted(small)


def test_no_two_packages_import_each_other() -> None:
    """Dependencies between packages are one-way."""
    pairs = {
        (importer.rpartition(".")[0], imported.rpartition(".")[0])
        for importer in graph().modules
        for imported in graph().find_modules_directly_imported_by(importer)
    }
    both = {frozenset(pair) for pair in pairs if pair[0] != pair[1] and pair[::-1] in pairs}
    assert not both, sorted(map(sorted, both))


def test_few_classes_are_protocols() -> None:
    """A Callable replaces a protocol with one method, and a class one with a single implementation."""
    bases = (
        base
        for path in sources("nncache")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    )
    assert sum(ast.unparse(base).startswith("Protocol") for base in bases) <= PROTOCOLS


@pytest.mark.parametrize(("pages", "words"), [("README.md", README_WORDS), ("docs/**/*.md", DOCS_WORDS)])
def test_documents_stay_short(pages: str, words: int) -> None:
    """Each fact is written once."""
    counted = [
        page for page in ROOT.glob(pages) if page.name != "track-record.md"
    ]  # which grows with each fault
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in counted) <= words
