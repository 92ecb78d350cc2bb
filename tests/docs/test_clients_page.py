"""The examples of docs/clients.md run through a real proxy, unchanged except for names and ports."""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from nncache.testbed import Cluster
from tests.cluster import make_directory, webhdfs
from tests.docs.pages import DOCS, Block, blocks
from tests.patience import HANG_S
from tests.real.stand import proxied

PAGE = blocks(DOCS / "clients.md")
PYTHON = tuple(block for block in PAGE if block.language == "python" and "is_there" in block.text)
SHELL = tuple(block for block in PAGE if block.language == "sh")


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster, a directory and a proxy for the examples."""

    cluster: Cluster
    root: str
    address: str

    def here(self, text: str) -> str:
        """Return an example with this place's names."""
        host, _, port = self.address.rpartition(":")
        return text.replace("proxy.example.com", host).replace("9871", port).replace("/user/joe", self.root)

    def set_marker(self, *, is_there: bool) -> None:
        """Create or remove the marker of the examples, directly at the NameNode."""
        path = f"{self.root}/_SUCCESS"
        if is_there:
            make_directory(self.cluster, path)
        else:
            assert webhdfs(self.cluster, "DELETE", path, "DELETE")[0] == 200


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Iterator[Place]:
    """A proxy that caches the marker."""
    root = "/docs-clients"
    make_directory(cluster, root)
    with proxied(cluster, f"{root}/_SUCCESS") as simulation:
        yield Place(cluster, root, simulation.proxy.address)


def python(block: Block, place: Place) -> bool:
    """Run the example; return whether it found the file."""
    names: dict[str, bool] = {}
    exec(compile(place.here(block.text), "docs/clients.md", "exec"), names)  # noqa: S102 - the test's purpose
    return names["is_there"]


def shell(block: Block, place: Place) -> bool:
    """Run the example; return whether it found the file."""
    line = place.here(block.text)
    program, _, arguments = line.partition(" dfs ")
    if program == "hdfs":
        return place.cluster.fs_shell(*arguments.split(), user="joe").returncode == 0
    done = subprocess.run(["sh", "-ec", line], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(("{", '{"RemoteException":{"exception":"FileNotFoundException"'))
    return '"FileStatus":{' in done.stdout


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("run", "block"),
    [*((python, block) for block in PYTHON), *((shell, block) for block in SHELL)],
    ids=lambda value: value.text.split()[1] if isinstance(value, Block) else "",
)
def test_an_example_sees_what_is_there(
    run: Callable[[Block, Place], bool], block: Block, place: Place
) -> None:
    """Creation and deletion are seen. A direct change takes effect within the bound, so the example is repeated."""
    for is_there in (True, False):
        place.set_marker(is_there=is_there)
        ends_at = time.monotonic() + HANG_S
        while run(block, place) is not is_there:
            assert time.monotonic() < ends_at, f"the example does not see that it is there: {is_there}"


def test_there_are_examples() -> None:
    """The test above must have something to check."""
    assert (len(PYTHON), len(SHELL)) == (4, 3)
