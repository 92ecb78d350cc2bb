"""Stories that run twice: at the NameNode itself, and at a proxy, directly and through each balancer."""

import re
from collections.abc import Callable, Iterable, Iterator

import pytest

from nncache.testbed import Cluster
from tests.clients.ways import CALLS, WAYS, Way, Ways, ways_to
from tests.cluster import make_directory

Story = Callable[[str, str], list[str]]
"""Takes "host:port" and a separate directory; returns its observations, one line per step."""

Compare = Callable[[Story], None]

_VARIES = (
    (r"(?mi)^(date|expires|set-cookie|cache-status|age): .*\n", ""),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"\b1[0-9]{12}\b", "TIME"),
    (r"(?i)(['\"]?fileid['\"]?: ?)\d+", r"\1ID"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "DATE"),
    (r"0x[0-9a-f]{8,}", "ADDRESS"),
)

_OF_NGINX = r"(?mi)^(server|connection): .*\n"
"""Header fields that nginx writes itself when it proxies HTTP."""


@pytest.fixture(scope="session")
def ways(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    """Ways to proxies that cache the root and everything that clients read below /c."""
    make_directory(cluster, "/c")
    globs = ("/", *("/c" + "/*" * depth for depth in range(1, 6)))
    with ways_to(cluster, *globs, logs=tmp_path_factory.mktemp("ways"), calls=CALLS) as ways:
        yield ways


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, ways: Ways) -> Way:
    """Each way in turn."""
    return ways(request.param)


@pytest.fixture(scope="session")
def at_the_namenode() -> dict[str, list[str]]:
    """The observations of each story at the NameNode, by the name of its test."""
    return {}


@pytest.fixture
def same_outcome(
    cluster: Cluster, way: Way, at_the_namenode: dict[str, list[str]], request: pytest.FixtureRequest
) -> Compare:
    """Run a story at the NameNode and on one way to a proxy; compare the observations line by line."""
    name = request.node.originalname

    def compare(story: Story) -> None:
        def saw(address: str, root: str) -> list[str]:
            make_directory(cluster, root)
            return [line.replace(root, "ROOT") for line in story(address, root)]

        if name not in at_the_namenode:
            at_the_namenode[name] = saw(cluster.namenodes[0].http, f"/c/{name}-namenode")
        wanted, root = at_the_namenode[name], f"/c/{name}-{way.name}"
        varies = (*_VARIES, (_OF_NGINX, "")) if way.name == "nginx" else _VARIES
        assert _without(varies, saw(way.address, root)) == _without(varies, wanted)
        assert len(wanted) > 5, "the story is about something"
        way.assert_clients_are_seen(root, len(wanted))

    return compare


def _without(varies: Iterable[tuple[str, str]], lines: Iterable[str]) -> list[str]:
    """Return the lines without the parts that differ each time."""
    left = list(lines)
    for pattern, instead in varies:
        left = [re.sub(pattern, instead, line) for line in left]
    return left
