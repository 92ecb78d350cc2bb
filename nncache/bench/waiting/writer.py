"""Files that appear, and when the NameNode said so."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from nncache.bench.at_once import at_once
from nncache.bench.waiting.questions import Series
from nncache.hadoop.rpc.namespace_edits import NamespaceEdits
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster

_TIMEOUT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Wave:
    """Files that are made at once.

    Attributes:
        at_s: seconds after the first wave.
        paths: numbers of the files.
    """

    at_s: float
    paths: Sequence[int]


def evenly(paths: int, over_s: float) -> list[Wave]:
    """Return waves of one file each, from the first to the last in so many seconds."""
    return [Wave(number * over_s / paths, (number,)) for number in range(paths)]


def in_waves(paths: int, waves: int, every_s: float) -> list[Wave]:
    """Return so many waves of nearly as many files each."""
    return [Wave(number * every_s, range(number, paths, waves)) for number in range(waves)]


@asynccontextmanager
async def _edits(cluster: Cluster) -> AsyncIterator[NamespaceEdits]:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        address, check = await hdfs.rpc_side()
    edits = NamespaceEdits(address, cluster.superuser, check, timeout_s=_TIMEOUT_S)
    try:
        await edits.connect()
        yield edits
    finally:
        await edits.close()


async def make_directories(cluster: Cluster, paths: Iterable[str]) -> None:
    """Make the directory of each of these paths."""
    async with _edits(cluster) as edits:
        await at_once(edits.mkdirs(path.rpartition("/")[0]) for path in paths)


async def make(cluster: Cluster, series: Series, waves: Iterable[Wave]) -> list[float]:
    """Make files of a series, and close each as soon as it is there.

    Returns:
        When the NameNode acknowledged each, by number, on the monotonic clock.
    """
    acked = [0.0] * series.paths
    async with _edits(cluster) as edits, asyncio.TaskGroup() as tasks:

        async def appear(number: int) -> None:
            path = series.path(number)
            await edits.create(path)
            acked[number] = time.monotonic()
            await edits.complete(path)

        began = time.monotonic()
        for wave in waves:
            await asyncio.sleep(began + wave.at_s - time.monotonic())
            for number in wave.paths:
                tasks.create_task(appear(number))
    return acked
