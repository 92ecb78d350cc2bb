"""Each client tells its story twice: to the NameNode itself and to the proxy in front of it."""

import re
from collections.abc import Callable, Iterator

import pytest

from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.real.stand import SPARING, proxied

Story = Callable[[str, str], list[str]]
"""Takes "host:port" and a directory of its own, and returns what it saw, one line a step."""

Compare = Callable[[Story], None]

_VARIES = (
    (r"(?mi)^(date|expires|set-cookie|cache-status|age): .*\n", ""),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"\b1[0-9]{12}\b", "TIME"),
    (r"(?i)(['\"]?fileid['\"]?: ?)\d+", r"\1ID"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", "DATE"),
    (r"0x[0-9a-f]{8,}", "ADDRESS"),
)


@pytest.fixture(scope="session")
def proxy_address(cluster: Cluster) -> Iterator[str]:
    """A proxy that keeps everything that these stories ask about."""
    with proxied(cluster, *("/c" + "/*" * depth for depth in range(1, 6)), polling=SPARING) as simulation:
        yield simulation.proxy.address


@pytest.fixture
def same_outcome(cluster: Cluster, proxy_address: str, request: pytest.FixtureRequest) -> Compare:
    """Tell a story on both sides and compare line by line what came of it."""

    def compare(story: Story) -> None:
        seen = []
        for side, address in (("namenode", cluster.namenodes[0].http), ("proxy", proxy_address)):
            root = f"/c/{request.node.name}-{side}"
            make_directory(cluster, "/c")
            make_directory(cluster, root)
            seen.append([_without_what_varies(line, root) for line in story(address, root)])
        assert seen[1] == seen[0]
        assert len(seen[0]) > 5, "the story is about something"

    return compare


def _without_what_varies(line: str, root: str) -> str:
    line = line.replace(root, "ROOT")
    for pattern, instead in _VARIES:
        line = re.sub(pattern, instead, line)
    return line
