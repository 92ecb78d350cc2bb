"""The examples of docs/clients.md work as they stand there, through a real proxy: only names and ports are replaced."""

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
    """Where the examples are tried."""

    cluster: Cluster
    root: str
    address: str

    def here(self, text: str) -> str:
        """Return an example with the names of this place."""
        host, _, port = self.address.rpartition(":")
        return text.replace("proxy.example.com", host).replace("9871", port).replace("/user/joe", self.root)

    def set_marker(self, *, is_there: bool) -> None:
        """Make or remove what the examples ask for, past the proxy."""
        path = f"{self.root}/_SUCCESS"
        if is_there:
            make_directory(self.cluster, path)
        else:
            assert webhdfs(self.cluster, "DELETE", path, "DELETE")[0] == 200


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Iterator[Place]:
    """A proxy that keeps what the examples ask for."""
    root = "/docs-clients"
    make_directory(cluster, root)
    with proxied(cluster, f"{root}/_SUCCESS") as simulation:
        yield Place(cluster, root, simulation.proxy.address)


def python(block: Block, place: Place) -> bool:
    """Run it, and return what it says of the file."""
    names: dict[str, bool] = {}
    exec(compile(place.here(block.text), "docs/clients.md", "exec"), names)  # noqa: S102 - that is the test
    return names["is_there"]


def shell(block: Block, place: Place) -> bool:
    """Run it, and return what it says of the file."""
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
    """And no longer what is gone; a change behind the proxy's back is seen within the bound, so it is asked again."""
    for is_there in (True, False):
        place.set_marker(is_there=is_there)
        ends_at = time.monotonic() + HANG_S
        while run(block, place) is not is_there:
            assert time.monotonic() < ends_at, f"the example does not see that it is there: {is_there}"


def test_there_are_examples() -> None:
    """So that the test above looks at something."""
    assert (len(PYTHON), len(SHELL)) == (4, 3)
