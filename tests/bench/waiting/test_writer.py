"""Files of a series appear when they should, and it is noted when the NameNode said so."""

import time

import pytest

from nncache.bench.waiting.questions import Series
from nncache.bench.waiting.writer import Wave, evenly, in_waves, make, make_directories
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster


def test_files_are_spread_evenly() -> None:
    """From the first to the last."""
    assert evenly(4, 2.0) == [Wave(0.0, (0,)), Wave(0.5, (1,)), Wave(1.0, (2,)), Wave(1.5, (3,))]


@pytest.mark.parametrize(("paths", "waves"), [(10, 3), (2, 3)])
def test_waves_share_all_files(paths: int, waves: int) -> None:
    """Each in one of them."""
    made = in_waves(paths, waves, 1.0)
    assert [each.at_s for each in made] == [float(number) for number in range(waves)]
    assert sorted(path for each in made for path in each.paths) == list(range(paths))


async def test_each_file_is_there_when_it_is_acknowledged(cluster: Cluster) -> None:
    """And closed soon after; in the order of the waves."""
    series = Series(name=f"t{time.monotonic_ns()}", paths=4, callers=1)
    paths = [series.path(number) for number in range(series.paths)]
    began = time.monotonic()
    await make_directories(cluster, paths)
    acked = await make(cluster, series, in_waves(4, 2, 0.1))
    assert began < min(acked)
    assert max(acked[0], acked[2]) < min(acked[1], acked[3])
    asker = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)
    try:
        assert [await asker.is_file_closed(path) for path in paths] == [True] * 4
    finally:
        await asker.close()
